import Strata

/// A duration in a column, as JSON. A number of seconds would round it, and could not be read back if it is very large.
package struct StoredDuration: Codable, Hashable, AttributeValue {
    let duration: Duration

    init(_ duration: Duration) { self.duration = duration }
}
