public import Foundation
public import Strata

/// A row with everything that a copy must keep together: a unique value, a searchable text, and bytes outside of the
/// row.
@Model public final class Sight {
    @Attribute(.unique) public var name: String
    @Attribute(.searchable) public var text: String
    @Attribute(.externalStorage) public var photo: Data?
}
