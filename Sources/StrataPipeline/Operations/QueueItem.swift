public import Strata

/// A model whose objects are what is queued: a letter that is to be sent, a document that is to be brought up to date.
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
/// Its handler is given the object as it is when the attempt starts, whatever was changed since it was queued. Whoever deletes the object
/// takes its operations off the queue, in the same commit; one that runs is cancelled.
public protocol QueueItem: Model {
    /// The name under which operations of this model are stored; by default that of the class. It must stay as it is when the class is
    /// renamed, and `originalName:` of the model must be the former name, since operations know their objects by the texts of their ids.
    static var itemType: String { get }
}

extension QueueItem {
    public static var itemType: String { TypeNames.name(of: Self.self) }
}
