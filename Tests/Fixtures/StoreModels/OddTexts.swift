/// Texts on which Swift's comparison by characters and a comparison by bytes disagree.
public enum OddTexts {
    /// Letters in composed and decomposed form, separators, and scalars that combine with the characters before or
    /// after them.
    public static let pieces = [
        "\u{e9}", "e\u{301}", "\u{301}", "\u{308}", "a\u{323}\u{307}", "a\u{307}\u{323}", "\u{212b}", "\u{c5}",
        "A\u{30a}",
        "\u{212a}", "K", "\u{ac00}", "\u{1100}\u{1161}", "\u{1161}", "\r\n", "\r", "\n", "/", ":", "-", " ", "\u{fe0f}",
        "\u{200d}", "\u{1f3fd}", "\u{600}", "\u{93f}", "\u{fb01}", "fi", "%", "a", "", "\u{10ffff}", "\u{d55c}",
        "\u{37e}", ";",
    ]

    /// Random texts of up to four pieces each. Swift considers many of them equal.
    public static func draw(_ count: Int, using generator: inout some RandomNumberGenerator) -> [String] {
        (0..<count).map { _ in
            let length = Int.random(in: 0...4, using: &generator)
            return (0..<length).map { _ in pieces[Int.random(in: pieces.indices, using: &generator)] }.joined()
        }
    }
}
