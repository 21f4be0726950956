import Foundation
import Strata
import StrataPipeline

/// An object that can be queued itself.
@Model final class Letter: QueueItem {
    var text: String
    var sentAt: Date?
    var folder: Folder?
}

/// What is deleted with its letters.
@Model final class Folder {
    @Relationship(deleteRule: .cascade, inverse: \Letter.folder) var letters: Many<Letter>
}

/// What handlers make, each once.
@Model final class Stamp {
    @Attribute(.unique) var name: String
}
