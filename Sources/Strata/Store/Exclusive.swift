/// A value that is reachable from everywhere, but used by one thread at a time. Its owner ensures this.
struct Exclusive<Value>: @unchecked Sendable {
    // The proof of `@unchecked Sendable`: the owner states what serializes the uses. The values of `StoreWriter`, for
    // example, are used only inside the database's writer, a serial queue.
    private let value: Value

    init(_ value: Value) { self.value = value }

    func use<Result>(_ body: (Value) throws -> Result) rethrows -> Result { try body(value) }
}
