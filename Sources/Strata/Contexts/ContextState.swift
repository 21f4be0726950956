/// A key of ``ObjectContext/state``: a type that declares the type of the value under the key.
///
/// ```swift
/// enum Selection: ContextStateKey { typealias Value = Article }
/// context.state[Selection.self] = article
/// ```
public protocol ContextStateKey {
    /// The type of the value under the key.
    associatedtype Value
}

/// Values and objects that a context keeps between its blocks.
///
/// Isolation: that of its context.
public struct ContextState {
    /// By key. The key's type determines the type of the held value.
    @usableFromInline var values: [ObjectIdentifier: AnyObject] = [:]

    /// The value under a key; nil if the key is not set.
    @inlinable
    public subscript<Key: ContextStateKey>(key: Key.Type) -> Key.Value? {
        get { values[ObjectIdentifier(key)].map { unsafeDowncast($0, to: HeldValue<Key.Value>.self).value } }
        set { values[ObjectIdentifier(key)] = newValue.map { HeldValue($0) } }
    }
}

/// A value of any type as an object, which is cheaper to read than an `Any`.
@usableFromInline
final class HeldValue<Value> {
    @usableFromInline let value: Value

    @inlinable
    init(_ value: Value) { self.value = value }
}
