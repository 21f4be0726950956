import Foundation

/// The bytes of the last seconds, by direction and node. Each whole second is one entry, so that memory stays bounded.
struct TransferWindow: Sendable {
    /// The direction and node of transferred bytes.
    struct Source: Hashable, Sendable {
        let direction: TransferDirection
        var node: Int64
    }

    private struct Second: Sendable {
        let number: Int64
        var bytes: [Source: Int64] = [:]
    }

    /// The length of the window in seconds.
    static let length: Int64 = 10

    private var seconds: [Second] = []
    /// When the first transfer after a pause without transfers began.
    private var beginnings: [TransferDirection: Date] = [:]

    private static func number(_ date: Date) -> Int64 { Int64(date.timeIntervalSinceReferenceDate.rounded(.down)) }

    /// Records the start of a transfer, and whether it is the only one of its direction.
    mutating func begin(_ direction: TransferDirection, isFirst: Bool, at date: Date) {
        forget(before: date)
        guard isFirst, !seconds.contains(where: { $0.bytes.keys.contains { $0.direction == direction } }) else {
            return
        }
        beginnings[direction] = date
    }

    mutating func add(_ bytes: Int64, of source: Source, at date: Date) {
        forget(before: date)
        let number = Self.number(date)
        // If the clock was set back, bytes count for the newest second.
        if seconds.last.map({ $0.number < number }) ?? true { seconds.append(Second(number: number)) }
        seconds[seconds.count - 1].bytes[source, default: 0] += bytes
    }

    /// The nodes with transferred bytes.
    var nodes: Set<Int64> { Set(seconds.flatMap { $0.bytes.keys.map(\.node) }) }

    private mutating func forget(before date: Date) {
        let oldest = Self.number(date) - Self.length
        // If the clock was set back by more, seconds that are now in the future are dropped.
        seconds.removeAll { $0.number <= oldest || $0.number > Self.number(date) + 1 }
    }

    /// The bytes per second of the wanted sources. A period of less than one second counts as one second.
    func throughput(_ direction: TransferDirection, at date: Date, _ isWanted: (Int64) -> Bool) -> Double {
        let oldest = Self.number(date) - Self.length
        var bytes: Int64 = 0
        for second in seconds where second.number > oldest {
            for (source, count) in second.bytes where source.direction == direction && isWanted(source.node) {
                bytes += count
            }
        }
        guard bytes > 0 else { return 0 }
        let windowed = Date(timeIntervalSinceReferenceDate: Double(oldest + 1))
        let begin = max(windowed, beginnings[direction] ?? windowed)
        return Double(bytes) / max(1, date.timeIntervalSince(begin))
    }
}
