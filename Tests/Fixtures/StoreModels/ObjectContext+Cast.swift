public import Strata

extension ObjectContext {
    /// The context as one that can save and commit.
    ///
    /// Application code must not cast a context. Tests do, to show that such a cast commits nothing.
    public var cast: SavingContext {
        get throws {
            guard let context = self as? SavingContext else { throw StrataError(.invalidState, "No such context") }
            return context
        }
    }
}
