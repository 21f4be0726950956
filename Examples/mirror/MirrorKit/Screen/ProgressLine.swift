import StrataCloud

/// The text `↑ [#####-----] 3 of 8 files  1.2 of 4.0 MB  0.5 MB/s  6 s left`, and the same for downloads.
enum ProgressLine {
    /// The text if no work is left.
    static let idle = "up to date"

    /// - Parameter idle: the text if no work is left.
    static func text(_ progress: CloudProgress, width: Int, idle: String = ProgressLine.idle) -> String {
        var parts = [part("↑", progress.uploads), part("↓", progress.downloads)].compactMap(\.self)
        if parts.isEmpty {
            let left = progress.operationsLeft
            parts = [left == 0 ? idle : "\(left) to do"]
        }
        if progress.operationsFailed > 0 { parts.append("\(progress.operationsFailed) failed") }
        return String(parts.joined(separator: "   ").prefix(max(0, width)))
    }

    private static func part(_ arrow: String, _ transfers: TransferProgress) -> String? {
        let files = transfers.filesDone + transfers.filesLeft
        guard files > 0 else { return nil }
        let filled = Int((transfers.fraction * 10).rounded(.down))
        let bar = String(repeating: "#", count: filled) + String(repeating: "-", count: 10 - filled)
        var text = "\(arrow) [\(bar)] \(transfers.filesDone) of \(files) files  \(bytes(transfers.bytesDone))"
        if let total = transfers.bytesTotal { text += " of \(bytes(total))" }
        if transfers.throughput > 0 { text += "  \(bytes(Int64(transfers.throughput)))/s" }
        if transfers.filesLeft > 0, let left = transfers.timeLeft {
            text += "  \(left.components.seconds + 1) s left"
        }
        return text
    }

    /// A size in decimal units.
    static func bytes(_ count: Int64) -> String {
        var (value, unit) = (Double(count), 0)
        let units = ["B", "kB", "MB", "GB", "TB"]
        while value >= 999.95, unit < units.count - 1 { (value, unit) = (value / 1000, unit + 1) }
        if unit == 0 { return "\(count) B" }
        let tenths = Int64((value * 10).rounded())
        return "\(tenths / 10).\(tenths % 10) \(units[unit])"
    }
}
