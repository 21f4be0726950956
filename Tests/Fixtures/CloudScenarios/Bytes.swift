import Foundation
import StrataCloud

/// Bytes that depend on a few numbers, so that tests can check arrived content without storing it.
public enum Bytes {
    /// The data of a draft: blocks of pseudo-random bytes. Each block begins with its number.
    public static func data(_ seed: Int, size: Int = 100) -> Data {
        var state = UInt64(truncatingIfNeeded: seed) &* 0x9E37_79B9_7F4A_7C15 | 1
        let block = Data(
            (0..<min(size, blockSize)).map { _ in
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                return UInt8(truncatingIfNeeded: state >> 56)
            }
        )
        var data = Data()
        for number in 0...size / blockSize { data += Data("\(seed) \(number) ".utf8) + block }
        return data.prefix(size)
    }

    private static let blockSize = 1000

    public static func metadata(_ seed: Int) -> Data { Data("metadata of \(seed)".utf8) }

    public static func thumbnail(_ seed: Int) -> Data { Data("thumbnail of \(seed)".utf8) }

    static func of(_ section: ContentSections, _ seed: Int, size: Int) -> Data {
        switch section {
        case .metadata: metadata(seed)
        case .thumbnail: thumbnail(seed)
        default: data(seed, size: size)
        }
    }
}
