/// A key of ``ObjectContext/state``: a type that says what is kept under it.
///
/// ```swift
/// enum Selection: ContextStateKey { typealias Value = Article }
/// context.state[Selection.self] = article
/// ```
public protocol ContextStateKey {
    /// What is kept under the key.
    associatedtype Value
}

/// Values and objects that a context keeps between its blocks.
///
/// Isolation: that of its context.
public struct ContextState {
    /// By key, whose type fixes that of what is held.
    @usableFromInline var values: [ObjectIdentifier: AnyObject] = [:]

    /// What is kept under a key; nil where nothing is.
    @inlinable
    public subscript<Key: ContextStateKey>(key: Key.Type) -> Key.Value? {
        get { values[ObjectIdentifier(key)].map { unsafeDowncast($0, to: HeldValue<Key.Value>.self).value } }
        set { values[ObjectIdentifier(key)] = newValue.map { HeldValue($0) } }
    }
}

/// A value of whichever type as an object, which costs less to look into than an `Any`.
@usableFromInline
final class HeldValue<Value> {
    @usableFromInline let value: Value

    @inlinable
    init(_ value: Value) { self.value = value }
}
