import Strata

/// The addresses of pages and actions.
enum ConsoleLink {
    /// A path below the console with a query, in ASCII.
    ///
    /// Names of objects are values of the query, also in the address of a form: a field of a form would change line
    /// feeds in them.
    ///
    /// - Returns: nil if a value is too long for an address.
    static func path(_ path: String, _ items: KeyValuePairs<String, String>) -> String? {
        self.path(path, items: Array(items))
    }

    /// As ``path(_:_:)``, for any number of items.
    static func path(_ path: String, items: [(key: String, value: String)]) -> String? {
        guard items.allSatisfy({ $0.value.utf8.count <= ConsoleFields.greatestValue }) else { return nil }
        let query = items.map { encoded($0.key) + "=" + encoded($0.value) }.joined(separator: "&")
        guard query.utf8.count <= ConsoleFields.greatestQuery else { return nil }
        return query.utf8.isEmpty ? path : path + "?" + query
    }

    /// A text with percent escapes for all bytes but letters, digits and `-._~`.
    static func encoded(_ text: String) -> String {
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            if isPlain(byte) {
                bytes.append(byte)
            } else {
                bytes.append(UInt8(ascii: "%"))
                bytes.append(digits[Int(byte >> 4)])
                bytes.append(digits[Int(byte & 15)])
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static let digits = Array("0123456789ABCDEF".utf8)

    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: Array("-._~".utf8).contains(byte)
        }
    }

    /// The relative address of the console's root for a page, such as `./` or `../`.
    ///
    /// - Parameters:
    ///   - path: the path of the request.
    ///   - depth: the number of the path's parts below the console.
    /// - Returns: nil for the root without a slash at its end, from which relative addresses lead elsewhere.
    static func base(of path: String, depth: Int) -> String? {
        let slashes = path.utf8.reversed().prefix { $0 == UInt8(ascii: "/") }.count
        let steps = depth + slashes - 1
        if steps < 0 { return nil }
        return steps == 0 ? "./" : String(repeating: "../", count: steps)
    }
}
