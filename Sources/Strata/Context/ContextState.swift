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
    private var values: [ObjectIdentifier: Any] = [:]

    /// What is kept under a key; nil where nothing is.
    public subscript<Key: ContextStateKey>(key: Key.Type) -> Key.Value? {
        get { values[ObjectIdentifier(key)] as? Key.Value }
        set { values[ObjectIdentifier(key)] = newValue }
    }
}
