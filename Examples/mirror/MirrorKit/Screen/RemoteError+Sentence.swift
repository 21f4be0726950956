import Foundation
import StrataCloud

extension RemoteError {
    /// The message for a person, with a full stop. The text of an underlying library error is left out, except for the
    /// reason that the system has given.
    var sentence: String {
        var text = message
        // The message may contain the quoted error with repaired brackets.
        let raws = underlying.map { ["\($0)", "\($0)".replacing(") (errno: ", with: " (errno: ")] } ?? []
        if let raw = raws.first(where: { !$0.isEmpty && text.utf8.reversed().starts(with: $0.utf8.reversed()) }) {
            text = String(decoding: text.utf8.dropLast(raw.utf8.count), as: UTF8.self)
            while let last = text.last, last == ":" || last == " " { text.removeLast() }
            if let code = raw.firstMatch(of: /\(errno: (\d+)\)/).flatMap({ Int32($0.1) }) {
                text += ": " + String(cString: strerror(code))
            }
        }
        return text.utf8.last == UInt8(ascii: ".") ? text : text + "."
    }
}
