/// Carries a value through a call that loses the `sending` of its result.
///
/// Proof of `@unchecked Sendable`: a box is made, passed on and opened by one task, within one function of Strata that
/// is itself bound by `sending` or by the isolation of the value; it is never stored, and opened once. So the value is
/// never reachable from two isolation domains by way of the box.
struct SendingBox<Value>: @unchecked Sendable {
    let value: Value

    init(_ value: Value) {
        self.value = value
    }

    /// The value, in a region of its own.
    consuming func open() -> sending Value {
        // Proof: `value` came out of a `sending` result, and this copy of the box is the only one.
        nonisolated(unsafe) let value = value
        return value
    }
}
