import Foundation

extension Date {
    /// The date some seconds later, and at most `distantFuture`. Holds do not last longer, and later dates have no text
    /// form.
    func later(by seconds: Double) -> Date { min(addingTimeInterval(seconds), .distantFuture) }
}
