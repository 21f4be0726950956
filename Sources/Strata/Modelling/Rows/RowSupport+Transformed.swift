// Generated code calls these functions for attributes with a transformer. The overloads for values of a type other than
// the transformer's exist only to produce one compiler message, as in UnknownAttribute.swift. None of those overloads
// can run.

extension RowSupport {
    /// The value in the form in which its column holds it.
    public static func transformed<Transformer: ValueTransformer>(
        _ value: Transformer.Value,
        by transformer: Transformer.Type
    ) -> Transformed<Transformer> { Transformed(value) }

    /// The value in the form in which its column holds it; nil for nil.
    public static func transformed<Transformer: ValueTransformer>(
        _ value: Transformer.Value?,
        by transformer: Transformer.Type
    ) -> Transformed<Transformer>? { value.map(Transformed.init) }

    /// Never called: a property whose type is not its transformer's `Value` does not compile.
    @_disfavoredOverload
    public static func transformed<Transformer: ValueTransformer, Value>(
        _ value: Value,
        by transformer: Transformer.Type
    ) -> Transformed<Transformer> {
        // Unreachable: the model's row does not compile.
        fatalError()
    }

    /// The value that a column holds.
    public static func value<Transformer: ValueTransformer>(
        of transformed: Transformed<Transformer>,
        as type: Transformer.Value.Type
    ) -> Transformer.Value { transformed.value }

    /// The value that a column holds; nil for NULL.
    public static func value<Transformer: ValueTransformer>(
        of transformed: Transformed<Transformer>?,
        as type: Transformer.Value?.Type
    ) -> Transformer.Value? { transformed?.value }

    /// Reports that the property's type is not its transformer's `Value`.
    @available(
        *,
        unavailable,
        message: """
            the type of the property is not the Value of its transformer; declare the property with that type, or name \
            another transformer
            """
    )
    @_disfavoredOverload
    public static func value<Held, Value>(of transformed: Held, as type: Value.Type) -> Value {
        // Unreachable: unavailable functions cannot be called.
        fatalError()
    }

    /// Whether replacing one value with the other is not a change.
    public static func isSame<Transformer: ValueTransformer>(
        _ left: Transformer.Value?,
        _ right: Transformer.Value?,
        by transformer: Transformer.Type
    ) -> Bool {
        guard left == right, let left, let right else { return left == right }
        // Two spellings of one character are equal in Swift, so the stored texts are compared as well.
        guard let left = try? Transformer.store(left), let right = try? Transformer.store(right) else { return true }
        return StoredTexts.haveSameParts(try? left.storedValue, try? right.storedValue)
    }

    /// Never called: a property whose type is not its transformer's `Value` does not compile.
    @_disfavoredOverload
    public static func isSame<Transformer: ValueTransformer, Value>(
        _ left: Value,
        _ right: Value,
        by transformer: Transformer.Type
    ) -> Bool { false }
}
