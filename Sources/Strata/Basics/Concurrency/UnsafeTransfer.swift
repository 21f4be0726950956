/// Carries a value through a call that loses the `sending` of its result.
///
/// Proof of `@unchecked Sendable`: one task makes, passes and opens a transfer, within one function of Strata that is
/// itself bound by `sending` or by the isolation of the value. A transfer is never stored, and is opened once. The
/// transfer therefore never makes the value reachable from two isolation domains.
struct UnsafeTransfer<Value>: @unchecked Sendable {
    let value: Value

    init(_ value: Value) {
        self.value = value
    }

    /// The value, in a disconnected region.
    consuming func open() -> sending Value {
        // Proof: `value` is the result of a `sending` call, and this copy of the transfer is the only one.
        nonisolated(unsafe) let value = value
        return value
    }
}
