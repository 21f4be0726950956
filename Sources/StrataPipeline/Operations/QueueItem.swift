public import Strata

/// A model whose objects can be queued themselves, such as a letter to send or a document to update.
///
/// ```swift
/// @Model final class Letter: QueueItem {
///     var text: String
///     var sentAt: Date?
/// }
///
/// context.enqueue(Letter(text: "Dear Sir"), in: .mail)
/// try context.commit()
/// ```
///
/// The handler receives the object as it is when the attempt starts, including changes made since it was queued. When
/// the object is deleted, the same commit takes its operations off the queue. A running operation is cancelled.
public protocol QueueItem: Model {
    /// The name under which operations of this model are stored; by default the name of the class. Keep this name when
    /// the class is renamed. Also set the model's `originalName:` to the former name, because operations refer to their
    /// objects by the texts of their ids.
    static var itemType: String { get }
}

extension QueueItem {
    public static var itemType: String { TypeNames.name(of: Self.self) }
}
