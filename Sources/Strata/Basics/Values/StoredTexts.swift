/// Compares the stored texts of values that Swift considers equal. Such texts can differ in the spelling of their
/// characters.
enum StoredTexts {
    /// Whether two equal values count as the same. False only if both are stored as texts that spell characters
    /// differently.
    static func areSame(_ left: StoredValue?, _ right: StoredValue?) -> Bool {
        guard case (.text(let left), .text(let right)) = (left, right) else { return true }
        return areAlike(left, right)
    }

    /// Whether two equal values that are stored as JSON count as the same.
    ///
    /// Sets and some dictionaries are stored as JSON with their elements in any order. The texts and numbers within the
    /// JSON are therefore compared regardless of their order.
    static func haveSameParts(_ left: StoredValue?, _ right: StoredValue?) -> Bool {
        guard case (.text(let left), .text(let right)) = (left, right) else { return true }
        return areAlike(left, right) || left.utf8.count == right.utf8.count && parts(of: left) == parts(of: right)
    }

    /// Whether two texts have the same bytes, or consist only of ASCII characters, each of which has one spelling.
    private static func areAlike(_ left: String, _ right: String) -> Bool {
        String.isSame(left, right) || isASCII(left) && isASCII(right)
    }

    private static func isASCII(_ text: String) -> Bool { text.utf8.allSatisfy { $0 < 0x80 } }

    private static func parts(of json: String) -> [UTF8Text] {
        json.utf8.split { marks.contains($0) }.map { UTF8Text(String(decoding: $0, as: UTF8.self)) }.sorted()
    }

    private static let marks = Set("\"[]{},:".utf8)
}
