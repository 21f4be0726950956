extension Column where Value: TextColumnValue {
    /// True where the text is this one under the options.
    public func equals(_ text: String, _ options: TextOptions) -> Condition<Root> { matching(.equal, text, options) }

    /// True where the text has this one in it, compared byte by byte or under the options. Every text has the empty one.
    public func contains(_ part: String, _ options: TextOptions = []) -> Condition<Root> {
        matching(.contains, part, options)
    }

    /// True where the text begins with this one. Without options an index of the column is used.
    public func hasPrefix(_ prefix: String, _ options: TextOptions = []) -> Condition<Root> {
        matching(.prefix, prefix, options)
    }

    /// True where the text ends with this one.
    public func hasSuffix(_ suffix: String, _ options: TextOptions = []) -> Condition<Root> {
        matching(.suffix, suffix, options)
    }

    /// True where the whole text is as the pattern says: `%` stands for any characters, `_` for one Unicode scalar, and
    /// `\` before one of the three for the character itself. Upper and lower case differ unless the options say otherwise.
    public func like(_ pattern: String, _ options: TextOptions = []) -> Condition<Root> {
        matching(.like, pattern, options)
    }

    /// True where the regular expression, in Swift's syntax, matches some part of the text.
    ///
    /// `^` and `$` bind it to the whole text, `(?i)` ignores case. A pattern that is no regular expression is reported
    /// when the query runs.
    ///
    /// Complexity: each text is searched; put narrower conditions beside it.
    public func matches(_ pattern: String) -> Condition<Root> {
        do {
            _ = try Regex(pattern)
        } catch {
            return Condition(.invalid("'\(pattern)' is no regular expression: \(error)"))
        }
        return matching(.regex, pattern, [])
    }

    /// True where there is a text and it is empty.
    public var isEmpty: Condition<Root> { matching(.equal, "", []) }

    /// The text in lower case.
    public func lowercased() -> Column { Column(.function("strata_lower", [node])) }

    /// The text in upper case.
    public func uppercased() -> Column { Column(.function("strata_upper", [node])) }

    /// How many characters the text has, as `String` counts them; nil where there is no text.
    public var length: Column<Root, Int?> { Column<Root, Int?>(.function("strata_length", [node])) }

    private func matching(
        _ match: ConditionNode.TextMatch,
        _ text: String,
        _ options: TextOptions
    ) -> Condition<Root> {
        Condition(.text(node, match, text, options))
    }
}
