public import Strata

/// The name of a pipeline: any text except the empty one. Names are compared by the bytes of their UTF-8.
///
/// ```swift
/// extension PipelineName { static let uploads: PipelineName = "uploads" }
/// ```
public struct PipelineName: RawRepresentable, ExpressibleByStringInterpolation, Hashable, Codable, AttributeValue,
    CustomStringConvertible
{
    /// The text of the name.
    public let rawValue: String

    /// A name by its text.
    public init(rawValue: String) { self.rawValue = rawValue }
    /// A name by its text.
    public init(_ text: String) { rawValue = text }
    /// A name as a literal.
    public init(stringLiteral text: String) { rawValue = text }

    /// Whether the name is the empty text. Nothing can be queued under the empty name, because brokers would never find
    /// it.
    var isEmpty: Bool { rawValue.utf8.isEmpty }

    /// Rejects the empty name.
    ///
    /// - Throws: ``PipelineError`` with `invalidArgument`.
    func requireText() throws {
        if isEmpty { throw PipelineError(.invalidArgument, "The name of the pipeline is empty. Give it a name.") }
    }

    /// Whether the name begins with a text, compared byte by byte.
    public func hasPrefix(_ text: String) -> Bool { rawValue.hasBytePrefix(text) }

    /// Whether two names have the same bytes.
    public static func == (left: PipelineName, right: PipelineName) -> Bool {
        left.rawValue.hasSameBytes(as: right.rawValue)
    }

    /// The opposite of `==`. The standard library's operator for raw-representable types would compare characters.
    public static func != (left: PipelineName, right: PipelineName) -> Bool { !(left == right) }

    /// As `==`, by the bytes.
    public func hash(into hasher: inout Hasher) { rawValue.hashBytes(into: &hasher) }

    /// The usual name for the pipeline that adopts operations of undeclared pipelines. It adopts them only on request:
    /// see ``Pipeline/adoptOrphanedOperations()``.
    public static let `default`: PipelineName = "default"

    /// The text of the name.
    public var description: String { rawValue }
}
