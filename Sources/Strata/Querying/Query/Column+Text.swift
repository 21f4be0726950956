extension Column where Value: TextColumnValue {
    /// True if the text equals `text` under the options.
    public func equals(_ text: String, _ options: TextOptions) -> Condition<Root> { matching(.equal, text, options) }

    /// True if the text contains `part`, compared byte by byte or under the options. Every text contains the empty
    /// text.
    public func contains(_ part: String, _ options: TextOptions = []) -> Condition<Root> {
        matching(.contains, part, options)
    }

    /// True if the text begins with `prefix`. Without options, the query uses an index of the column.
    public func hasPrefix(_ prefix: String, _ options: TextOptions = []) -> Condition<Root> {
        matching(.prefix, prefix, options)
    }

    /// True if the text ends with `suffix`.
    public func hasSuffix(_ suffix: String, _ options: TextOptions = []) -> Condition<Root> {
        matching(.suffix, suffix, options)
    }

    /// True if the whole text matches a pattern.
    ///
    /// In the pattern, `%` matches any characters and `_` matches one Unicode scalar. A `\` before `%`, `_` or `\`
    /// matches that character itself. Upper and lower case differ unless the options say otherwise.
    public func like(_ pattern: String, _ options: TextOptions = []) -> Condition<Root> {
        matching(.like, pattern, options)
    }

    /// True if the regular expression, in Swift's syntax, matches some part of the text.
    ///
    /// `^` and `$` bind the expression to the whole text, and `(?i)` ignores case. An invalid pattern is reported when
    /// the query runs.
    ///
    /// Complexity: each text is searched. Combine this condition with narrower ones.
    public func matches(_ pattern: String) -> Condition<Root> {
        do {
            _ = try Regex(pattern)
        } catch {
            return Condition(.invalid("'\(pattern)' is not a valid regular expression: \(error)"))
        }
        return matching(.regex, pattern, [])
    }

    /// True if the text is not nil and is empty.
    public var isEmpty: Condition<Root> { matching(.equal, "", []) }

    /// The text in lower case.
    public func lowercased() -> Column { Column(.function("strata_lower", [node])) }

    /// The text in upper case.
    public func uppercased() -> Column { Column(.function("strata_upper", [node])) }

    /// The number of characters of the text, as `String` counts them; nil if the text is nil.
    public var length: Column<Root, Int?> { Column<Root, Int?>(.function("strata_length", [node])) }

    private func matching(
        _ match: ConditionNode.TextMatch,
        _ text: String,
        _ options: TextOptions
    ) -> Condition<Root> {
        Condition(.text(node, match, text, options))
    }
}
