public import Strata

/// In a module whose default isolation is the main actor, a model must be `nonisolated`. The module is compiled with
/// warnings as errors.
@Model nonisolated public final class Note {
    public var text: String
    public var isDone: Bool = false
    public var folder: Folder?

    public enum Color: String, AttributeValue { case red, blue }
    public var color: Color?
}

@Model public nonisolated final class Folder {
    @Relationship(deleteRule: .cascade, inverse: \Note.folder) public var notes: Many<Note>
}

/// Uses a model away from the main actor.
nonisolated public func rename(_ note: Note) -> Note.Row {
    note.text += "!"
    note.folder = Folder()
    return note.snapshot
}

/// Uses a model on the main actor.
public func makeNote() -> Note { Note(text: "n", color: .red) }
