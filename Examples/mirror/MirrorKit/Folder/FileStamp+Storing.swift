import Foundation
import Strata

/// The form in the store: the four numbers as one text, such as `131 100 1795392000000000000 1795392000000000000`.
///
/// Each comparison of the folder with its entries reads the stamps of all files, and such a text is read in a fraction
/// of the time of JSON.
extension FileStamp {
    var storedValue: StoredValue { .text("\(inode) \(size) \(modified) \(changed)") }

    /// Reads the numbers, or the JSON that earlier versions of the mirror have stored. Nil for any other value.
    init?(storedValue: StoredValue) {
        guard case .text(let text) = storedValue, let stamp = Self.numbers(text) ?? Self.json(text) else { return nil }
        self = stamp
    }

    private static func numbers(_ text: String) -> FileStamp? {
        let parts = text.utf8.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
        guard parts.count == 4, let inode = UInt64(Substring(parts[0])), let size = Int64(Substring(parts[1])),
            let modified = Int64(Substring(parts[2])), let changed = Int64(Substring(parts[3]))
        else { return nil }
        return FileStamp(inode: inode, size: size, modified: modified, changed: changed)
    }

    private static func json(_ text: String) -> FileStamp? {
        guard text.utf8.first == UInt8(ascii: "{") else { return nil }
        return try? JSONDecoder().decode(FileStamp.self, from: Data(text.utf8))
    }

    static func isSame(_ left: FileStamp, _ right: FileStamp) -> Bool { left == right }
}
