import Foundation
import StrataCloud

extension RemoteError {
    /// The message as a person is told it, with a full stop. The text of a library below it is left out, but for the reason that the system has given.
    var sentence: String {
        var text = message
        // A message may have mended the brackets of what it quotes.
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
