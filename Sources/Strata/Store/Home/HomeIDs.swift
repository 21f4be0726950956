/// Gives ids that no other working copy of the store has used.
struct HomeIDs: Sendable {
    /// Takes one id, from a range that was reserved before.
    let next: @Sendable () throws -> Int64
    /// Reserves consecutive ids at the home, and returns the first one.
    let reserve: @Sendable (_ count: Int64) throws -> Int64
}
