import Foundation
import Strata

/// Any JSON value.
enum JSONTree: Codable, Hashable {
    case null
    case flag(Bool)
    case integer(Int64)
    case natural(UInt64)
    case decimal(Decimal)
    case number(Double)
    case text(UTF8Text)
    case array([JSONTree])
    case object([UTF8Text: JSONTree])

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let flag = try? container.decode(Bool.self) {
            self = .flag(flag)
        } else if let integer = try? container.decode(Int64.self) {
            self = .integer(integer)
        } else if let natural = try? container.decode(UInt64.self) {
            self = .natural(natural)
        } else if let number = try? container.decode(Double.self) {
            // A decimal keeps all digits of the numbers in its range.
            if let decimal = try? container.decode(Decimal.self), decimal.isFinite, abs(number) < 1e100,
                abs(number) > 1e-28
            {
                self = .decimal(decimal)
            } else {
                self = .number(number)
            }
        } else if let text = try? container.decode(UTF8Text.self) {
            self = .text(text)
        } else if let array = try? container.decode([JSONTree].self) {
            self = .array(array)
        } else {
            self = .object(try container.decode([UTF8Text: JSONTree].self))
        }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .flag(let flag): try container.encode(flag)
        case .integer(let integer): try container.encode(integer)
        case .natural(let natural): try container.encode(natural)
        case .decimal(let decimal): try container.encode(decimal)
        case .number(let number): try container.encode(number)
        case .text(let text): try container.encode(text)
        case .array(let array): try container.encode(array)
        case .object(let object): try container.encode(object)
        }
    }

    static func merge(original: JSONTree?, local: JSONTree, remote: JSONTree) -> JSONTree {
        if local == original || local == remote { return remote }
        if remote == original { return local }
        switch (local, remote) {
        case (.object(let mine), .object(let theirs)):
            let before: [UTF8Text: JSONTree] = if case .object(let before) = original { before } else { [:] }
            return .object(
                ThreeWayMerge.dictionary(original: before, local: mine, remote: theirs) {
                    merge(original: $0, local: $1, remote: $2)
                }
            )
        case (.array(let mine), .array(let theirs)):
            let before: [JSONTree] = if case .array(let before) = original { before } else { [] }
            return .array(ThreeWayMerge.array(original: before, local: mine, remote: theirs))
        default: return remote
        }
    }
}
