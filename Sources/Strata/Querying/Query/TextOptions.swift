/// How a predicate or a sort compares texts. Without options, texts are compared by their bytes in UTF-8.
///
/// With any option, both texts are also converted to one Unicode normal form, so that the two spellings of `é` are
/// equal. Locales have no influence: the result is the same on every machine.
public struct TextOptions: OptionSet, Sendable, Hashable {
    public let rawValue: Int

    public init(rawValue: Int) { self.rawValue = rawValue }

    /// `a` equals `A`, by Unicode's case folding.
    public static let caseInsensitive = TextOptions(rawValue: 1)
    /// `e` equals `é`.
    public static let diacriticInsensitive = TextOptions(rawValue: 2)
}
