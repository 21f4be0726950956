import Foundation

@testable import Strata

/// One attribute of a model, as random edits set it and checks read it.
struct StockField<Object: Model> {
    let column: Int
    /// A value from the attribute's pool, in its stored form, with the edit that sets it.
    let pick: (inout SeededGenerator) throws -> (value: StoredValue, set: (Object) -> Void)
    /// The value of the property.
    let read: (Object) throws -> StoredValue
}

extension StockField {
    private static func column(_ name: String) -> Int { Object._$schema.columns.firstIndex { $0.name == name } ?? -1 }

    static func required<Value: AttributeValue>(
        _ name: String,
        _ path: ReferenceWritableKeyPath<Object, Value>,
        _ pool: [Value]
    ) -> StockField {
        StockField(
            column: column(name),
            pick: { generator in
                let value = pool.randomElement(using: &generator)!
                return (try value.storedValue, { $0[keyPath: path] = value })
            },
            read: { try $0[keyPath: path].storedValue }
        )
    }

    static func optional<Value: AttributeValue>(
        _ name: String,
        _ path: ReferenceWritableKeyPath<Object, Value?>,
        _ pool: [Value]
    ) -> StockField {
        StockField(
            column: column(name),
            pick: { generator in
                let value = Int.random(in: 0..<3, using: &generator) == 0 ? nil : pool.randomElement(using: &generator)!
                return (try value?.storedValue ?? .null, { $0[keyPath: path] = value })
            },
            read: { try $0[keyPath: path]?.storedValue ?? .null }
        )
    }
}

/// A model whose objects are created by random edits.
protocol StockModel: Model {
    static var fields: [StockField<Self>] { get }
    static func make() -> Self
}

extension StockItem: StockModel {
    static func make() -> Self { Self(name: "") }

    static var fields: [StockField<StockItem>] {
        [
            .required("name", \.name, StockValues.texts), .optional("note", \.note, StockValues.texts),
            .required("rank", \.rank, StockValues.integers), .optional("size", \.size, StockValues.integers),
            .optional("small", \.small, StockValues.smalls), .required("weight", \.weight, StockValues.reals),
            .optional("ratio", \.ratio, StockValues.reals), .required("cost", \.cost, StockValues.decimals),
            .optional("price", \.price, StockValues.decimals), .required("total", \.total, StockValues.unsigned),
            .optional("extra", \.extra, StockValues.unsigned), .optional("madeAt", \.madeAt, StockValues.dates),
            .optional("key", \.key, StockValues.keys), .required("bytes", \.bytes, StockValues.bytes),
            .optional("thumb", \.thumb, StockValues.bytes), .required("isDone", \.isDone, [false, true]),
            .optional("isLiked", \.isLiked, [false, true]), .required("flavor", \.flavor, StockValues.flavors),
            .optional("mood", \.mood, StockValues.flavors), .optional("spot", \.spot, StockValues.spots),
        ]
    }
}

extension StockShelf: StockModel {
    static func make() -> Self { Self(title: "") }
    static var fields: [StockField<StockShelf>] {
        [.required("title", \.title, StockValues.texts), .optional("floor", \.floor, StockValues.integers)]
    }
}

extension StockHouse: StockModel {
    static func make() -> Self { Self(name: "") }
    static var fields: [StockField<StockHouse>] { [.required("name", \.name, StockValues.texts)] }
}

extension StockLid: StockModel {
    static func make() -> Self { Self(color: "") }
    static var fields: [StockField<StockLid>] { [.required("color", \.color, StockValues.texts)] }
}

extension StockTag: StockModel {
    static func make() -> Self { Self() }
    static var fields: [StockField<StockTag>] { [.optional("name", \.name, StockValues.texts)] }
}

extension SeededGenerator {
    mutating func below(_ count: Int) -> Int { Int.random(in: 0..<count, using: &self) }
    mutating func chance(_ parts: Int) -> Bool { below(parts) == 0 }
}

extension StoredValue {
    /// Compares the bytes: two spellings of a character are two values.
    func isSame(as other: StoredValue) -> Bool {
        if case .text(let left) = self, case .text(let right) = other { return String.isSame(left, right) }
        return self == other
    }

    /// The value on one line, with invisible characters escaped.
    var shown: String { if case .text(let text) = self { text.debugDescription } else { description } }
}
