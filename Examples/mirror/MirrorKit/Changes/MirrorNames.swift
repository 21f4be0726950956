import Foundation

/// Rules for names of files.
enum MirrorNames {
    /// Whether a name of the tree is a valid name of a local file. Names of the tree may contain any character.
    static func isPossible(_ name: String) -> Bool {
        !name.isEmpty && name != "." && name != ".." && name.utf8.count <= 255
            && !name.utf8.contains { $0 == UInt8(ascii: "/") || $0 == 0 } && !LocalFolder.isWork(name)
    }

    /// The name under which the content of a folder node appears beside the folder: `notes (content).txt` for a folder
    /// named `notes.txt`.
    static func content(of name: String) -> String {
        // Leaves room for a number.
        marked(name, " (content)", most: 230)
    }

    /// Inserts a text before the extension of a name.
    ///
    /// - Parameter most: the maximum number of bytes that are kept of the name.
    static func marked(_ name: String, _ mark: String, most: Int) -> String {
        let dot = name.utf8.dropFirst().lastIndex(of: UInt8(ascii: ".")) ?? name.endIndex
        var (stem, suffix) = (String(name[..<dot]), String(name[dot...]))
        if suffix.utf8.count > 64 { (stem, suffix) = (name, "") }
        while stem.utf8.count + suffix.utf8.count > most, !stem.isEmpty { stem.removeLast() }
        return stem + mark + suffix
    }

    /// Inserts a number other than 1 before the extension of a name. The result has at most 255 bytes.
    static func numbered(_ name: String, _ number: Int) -> String {
        number == 1 ? name : marked(name, " \(number)", most: 245)
    }
}

/// Names the second version of a file: `notes (conflict from here 2026-11-23).txt`.
struct ConflictName: Sendable {
    let host: String
    let now: @Sendable () -> Date

    /// - Returns: a name of at most 255 bytes.
    func name(for name: String) -> String {
        let day = now().formatted(.iso8601.year().month().day())
        let mark = " (conflict from \(host) \(day))"
        // Leaves room for a number.
        return MirrorNames.marked(name, mark, most: 240 - mark.utf8.count)
    }
}
