public import Foundation
import Synchronization

/// The value of a `Data` attribute that is kept outside of its object's row, as a row has it: where the bytes are, and
/// the bytes themselves once they were read.
///
/// The attribute is declared as `@Attribute(.externalStorage) var photo: Data?` and is a `Data?` to its users. This
/// type is what a ``Model/Row`` has in its place, so that fetching an object reads none of it.
///
/// Two values of one store are equal if they stand for the same stored bytes or, before they are stored, if they are the
/// same value. Bytes are not compared.
public struct ExternalData: AttributeValue {
    private final class Place: Sendable {
        let state: Mutex<(number: Int64?, content: Data?)>

        init(_ number: Int64?, _ content: Data?) { state = Mutex((number, content)) }
    }

    private let place: Place

    /// Bytes that are in no store yet.
    public init(_ content: Data) { place = Place(nil, content) }

    /// The bytes, if they are in memory: where they were set or read by an object. ``Model/snapshot`` reads them.
    public var data: Data? { place.state.withLock { $0.content } }

    /// The row of ``ExternalSQL/table`` that has the bytes; nil before they are stored.
    var number: Int64? { place.state.withLock { $0.number } }

    /// Notes that the bytes are, or are no longer, in this row.
    func isStored(as number: Int64?) { place.state.withLock { $0.number = number } }

    /// Keeps what was read.
    func keep(_ content: Data) { place.state.withLock { $0.content = content } }

    public static func == (left: ExternalData, right: ExternalData) -> Bool {
        if left.place === right.place { return true }
        guard let number = left.number else { return false }
        return number == right.number
    }
}

extension ExternalData {
    public static var columnType: ColumnType { .integer }

    /// The number of the stored bytes; 0 before they are stored.
    public var storedValue: StoredValue { .integer(number ?? 0) }

    public init?(storedValue: StoredValue) {
        guard case .integer(let number) = storedValue else { return nil }
        place = Place(number, nil)
    }
}

extension ExternalData: CustomDebugStringConvertible {
    /// How many bytes there are, if they are in memory.
    public var debugDescription: String { data.map { "\($0.count) bytes" } ?? "bytes not read" }
}

// MARK: Called by generated code

extension ExternalData {
    public static func _$wrap(_ content: Data) -> ExternalData { ExternalData(content) }
    public static func _$wrap(_ content: Data?) -> ExternalData? { content.map(ExternalData.init) }

    /// Whether setting these bytes is no change. Bytes that are not in memory are not read to find out.
    public static func _$isSame(_ current: ExternalData?, _ content: Data?) -> Bool {
        guard let current else { return content == nil }
        return content != nil && current.data == content
    }
}

extension Model {
    /// The bytes of an attribute outside of the row, read at first use. Where the store cannot be read the answer is
    /// nil, and the error goes to ``ContextStack/failures``.
    public func _$external(_ column: Int) -> Data? {
        if let content = _$row._$external(at: column)?.data { return content }
        guard let context = _$link.context else { return nil }
        do {
            // The view comes first, since it may show the object anew.
            let view = try context.currentView()
            guard let external = _$row._$external(at: column) else { return nil }
            if let content = external.data { return content }
            if let content = try view.reader.connection.content(of: external) {
                external.keep(content)
                return content
            }
            // What was deleted has taken its bytes along.
            if !isDeleted {
                let isBroughtBack = view.layers.contains(
                    .restore,
                    of: id.number,
                    entity: Int(_$state.entity),
                    in: context.path
                )
                throw ExternalData.lost(
                    Self._$schema.columns[column].name,
                    of: id.number,
                    Self._$schema.name,
                    isBroughtBack: isBroughtBack
                )
            }
        } catch {
            context.reference.report(error)
        }
        return nil
    }
}

extension ExternalData {
    /// The error for bytes that a row has and the store does not.
    ///
    /// - Parameter isBroughtBack: whether the object was brought back here over a delete. Once that is committed elsewhere, bytes that
    ///   nobody has read by then are gone.
    static func lost(_ column: String, of number: Int64, _ model: String, isBroughtBack: Bool = false)
        -> StrataError
    {
        StrataError(
            isBroughtBack ? .conflict : .damagedStore,
            isBroughtBack
                ? "The bytes of \(model).\(column) are gone: the object was brought back here, and is deleted elsewhere. Set them anew, "
                    + "or roll the object back."
                : "The bytes of \(model).\(column) are not in the store. Was it changed by another program?",
            details: [
                StrataError.Detail(model: model, number: number, column: column, message: "has lost its bytes")
            ]
        )
    }
}
