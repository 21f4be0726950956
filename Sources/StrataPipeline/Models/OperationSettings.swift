import Foundation
import Strata

/// The options of a queued operation that has any: see ``OperationOptions``.
@Model(.index("expiryDue", whereNotNil: "expiryDue"), table: "OperationSettings")
package final class OperationSettings {
    /// The raw id of the operation. The row has a different id, because a context may remove the options of an
    /// operation and set others, and ids are used once.
    @Attribute(.unique(onConflict: .update)) package internal(set) var operation: Int64
    /// The date after which the operation no longer starts; nil for never.
    package internal(set) var expiresAt: Date?
    /// ``expiresAt`` until the engine has handled this date; nil afterwards. So an operation that runs or has failed at
    /// this date is looked at once.
    package internal(set) var expiryDue: Date?
    /// The options of its attempts; nil for those of the pipeline.
    package internal(set) var attempts: AttemptOptions?
}

extension OperationSettings {
    /// Removes the expiry, which was that of a payload that another one replaces. The other options stay.
    func endExpiry() { (expiresAt, expiryDue) = (nil, nil) }
}
