/// Compares the stored texts of values that Swift takes for equal: these may differ in how their characters are spelled.
enum StoredTexts {
    /// Whether the stored values are not two different texts.
    static func areSame(_ left: StoredValue?, _ right: StoredValue?) -> Bool {
        guard case (.text(let left), .text(let right)) = (left, right) else { return true }
        return areAlike(left, right)
    }

    /// The same for JSON, in which sets and some dictionaries have their elements in any order: the texts and numbers in it are compared
    /// whatever their order.
    static func haveSameParts(_ left: StoredValue?, _ right: StoredValue?) -> Bool {
        guard case (.text(let left), .text(let right)) = (left, right) else { return true }
        return areAlike(left, right) || left.utf8.count == right.utf8.count && parts(of: left) == parts(of: right)
    }

    /// Whether two texts have the same bytes, or only ASCII characters, each of which has one spelling.
    private static func areAlike(_ left: String, _ right: String) -> Bool {
        String.isSame(left, right) || isASCII(left) && isASCII(right)
    }

    private static func isASCII(_ text: String) -> Bool { text.utf8.allSatisfy { $0 < 0x80 } }

    private static func parts(of json: String) -> [UTF8Text] {
        json.utf8.split { marks.contains($0) }.map { UTF8Text(String(decoding: $0, as: UTF8.self)) }.sorted()
    }

    private static let marks = Set("\"[]{},:".utf8)
}
