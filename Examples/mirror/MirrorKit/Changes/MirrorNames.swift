import Foundation

/// Names of files.
enum MirrorNames {
    /// Whether a name of the tree can be one of a file here. Names of the tree may hold any character.
    static func isPossible(_ name: String) -> Bool {
        !name.isEmpty && name != "." && name != ".." && name.utf8.count <= 255
            && !name.utf8.contains { $0 == UInt8(ascii: "/") || $0 == 0 } && !LocalFolder.isWork(name)
    }

    /// Under which name the content of a folder is shown beside it: `notes (content).txt` for a folder that is called `notes.txt`.
    static func content(of name: String) -> String {
        // Room for a number as well.
        marked(name, " (content)", most: 230)
    }

    /// A name with a mark before its extension.
    ///
    /// - Parameter most: how many bytes of the name are kept.
    static func marked(_ name: String, _ mark: String, most: Int) -> String {
        let dot = name.utf8.dropFirst().lastIndex(of: UInt8(ascii: ".")) ?? name.endIndex
        var (stem, suffix) = (String(name[..<dot]), String(name[dot...]))
        if suffix.utf8.count > 64 { (stem, suffix) = (name, "") }
        while stem.utf8.count + suffix.utf8.count > most, !stem.isEmpty { stem.removeLast() }
        return stem + mark + suffix
    }

    /// A name with a number before its extension, if that is not 1, of at most 255 bytes.
    static func numbered(_ name: String, _ number: Int) -> String {
        number == 1 ? name : marked(name, " \(number)", most: 245)
    }
}

/// What a second version of a file is called: `notes (conflict from here 2026-11-23).txt`.
struct ConflictName: Sendable {
    let host: String
    let now: @Sendable () -> Date

    /// - Returns: a name of at most 255 bytes.
    func name(for name: String) -> String {
        let day = now().formatted(.iso8601.year().month().day())
        let mark = " (conflict from \(host) \(day))"
        // Room for a number as well.
        return MirrorNames.marked(name, mark, most: 240 - mark.utf8.count)
    }
}
