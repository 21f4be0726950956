import Foundation

extension Date {
    /// The date so many seconds later, and no later than `distantFuture`: nothing waits for longer, and later dates have no text.
    func later(by seconds: Double) -> Date { min(addingTimeInterval(seconds), .distantFuture) }
}
