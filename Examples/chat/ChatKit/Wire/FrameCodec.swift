import Foundation
public import NIOCore

/// The wire format of a frame: the length in four bytes, the most significant byte first, and then the frame as JSON.
public enum FrameCodec {
    /// The maximum size of a frame's JSON, in bytes.
    public static let limit = 64 * 1024
    static let headerLength = 4

    /// Adds a codec for both directions to a channel's pipeline.
    static func add(to channel: any Channel) throws {
        try channel.pipeline.syncOperations.addHandlers(
            ByteToMessageHandler(FrameDecoder()),
            MessageToByteHandler(FrameEncoder())
        )
    }
}

/// The reason why bytes are not a valid frame.
public enum FrameError: Error, Hashable, CustomStringConvertible {
    case tooLong(Int)
    case malformed(String)
    /// The connection ended in the middle of a frame.
    case incomplete

    public var description: String {
        switch self {
        case .tooLong(let length): "a frame has \(length) bytes, and the limit is \(FrameCodec.limit)"
        case .malformed(let reason): "a malformed frame: \(reason)"
        case .incomplete: "an incomplete frame"
        }
    }
}

public struct FrameDecoder: NIOSingleStepByteToMessageDecoder {
    public typealias InboundOut = Frame

    private let decoder = JSONDecoder()

    public init() {}

    /// - Throws: ``FrameError``. An excessive length throws as soon as it is known, before its bytes have arrived.
    public mutating func decode(buffer: inout ByteBuffer) throws -> Frame? {
        guard let length: UInt32 = buffer.getInteger(at: buffer.readerIndex) else { return nil }
        guard length <= FrameCodec.limit else { throw FrameError.tooLong(Int(length)) }
        guard let slice = buffer.getSlice(at: buffer.readerIndex + FrameCodec.headerLength, length: Int(length)) else {
            return nil
        }
        buffer.moveReaderIndex(forwardBy: FrameCodec.headerLength + Int(length))
        guard let frame = try? decoder.decode(Frame.self, from: Data(slice.readableBytesView)) else {
            throw FrameError.malformed("its \(length) bytes are not a known frame")
        }
        guard frame.isWithinLimits else { throw FrameError.malformed("a field is too long, or a name is not valid") }
        return frame
    }

    public mutating func decodeLast(buffer: inout ByteBuffer, seenEOF: Bool) throws -> Frame? {
        if let frame = try decode(buffer: &buffer) { return frame }
        guard buffer.readableBytes == 0 else { throw FrameError.incomplete }
        return nil
    }
}

public struct FrameEncoder: MessageToByteEncoder {
    public typealias OutboundIn = Frame

    private let encoder = JSONEncoder()

    public init() {}

    /// - Throws: `FrameError.tooLong`; errors of the JSON encoder.
    public func encode(data: Frame, out: inout ByteBuffer) throws {
        let bytes = try encoder.encode(data)
        guard bytes.count <= FrameCodec.limit else { throw FrameError.tooLong(bytes.count) }
        out.writeInteger(UInt32(bytes.count))
        out.writeBytes(bytes)
    }
}
