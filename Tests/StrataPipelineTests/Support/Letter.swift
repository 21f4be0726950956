import Foundation
import Strata
import StrataPipeline

/// An object that can be queued itself.
@Model final class Letter: QueueItem {
    var text: String
    var sentAt: Date?
    var folder: Folder?
}

/// A folder whose delete also deletes its letters.
@Model final class Folder {
    @Relationship(deleteRule: .cascade, inverse: \Letter.folder) var letters: Many<Letter>
}

/// An object that handlers insert, with a unique name.
@Model final class Stamp {
    @Attribute(.unique) var name: String
}
