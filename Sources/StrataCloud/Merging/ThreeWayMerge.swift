import Foundation
public import Strata

/// Merges what was changed on both sides since they were the same: here (local) and at the remote.
///
/// What was changed on one side only is taken from there. Sets, dictionaries, arrays and the properties of records are merged element by
/// element; where both sides have changed the same one to something else, the remote's value counts, so that all that merge come to the
/// same.
public enum ThreeWayMerge {
    /// A value as a whole.
    public static func value<Value: Equatable>(original: Value, local: Value, remote: Value) -> Value {
        remote == original ? local : remote
    }

    /// A value as a whole, or nil. Texts are compared by the bytes of their UTF-8.
    public static func value<Value: AttributeValue>(original: Value?, local: Value?, remote: Value?) -> Value? {
        Value._$isSameOptional(remote, original) ? local : remote
    }

    /// A value as a whole. Texts are compared by the bytes of their UTF-8.
    public static func value<Value: AttributeValue>(original: Value, local: Value, remote: Value) -> Value {
        Value.isSame(remote, original) ? local : remote
    }

    /// Members that either side has added are in, and those that either has removed are not.
    ///
    /// - Complexity: O(members).
    public static func set<Element: Hashable>(
        original: Set<Element>,
        local: Set<Element>,
        remote: Set<Element>
    ) -> Set<Element> {
        remote.union(local.subtracting(original)).subtracting(original.subtracting(local))
    }

    /// Key by key; a value that one side has removed and the other changed is as the remote has it.
    ///
    /// - Complexity: O(keys).
    public static func dictionary<Key: Hashable, Value: Equatable>(
        original: [Key: Value],
        local: [Key: Value],
        remote: [Key: Value]
    ) -> [Key: Value] {
        dictionary(original: original, local: local, remote: remote) { _, _, remote in remote }
    }

    /// The same, with what becomes of a value that both sides have, and have changed.
    static func dictionary<Key: Hashable, Value: Equatable>(
        original: [Key: Value],
        local: [Key: Value],
        remote: [Key: Value],
        _ both: (Value?, Value, Value) -> Value
    ) -> [Key: Value] {
        var merged = remote
        for key in Set(original.keys).union(local.keys) {
            let (before, mine, theirs) = (original[key], local[key], remote[key])
            if mine == before || mine == theirs { continue }
            if theirs == before {
                merged[key] = mine
            } else if let mine, let theirs {
                merged[key] = both(before, mine, theirs)
            }
        }
        return merged
    }

    /// Element by element: each is there as often as both sides' additions and removals make it; the same change on both sides counts once.
    /// The order is the remote's, with what was added here behind what it stands behind here.
    ///
    /// - Complexity: O(elements).
    public static func array<Element: Hashable>(
        original: [Element],
        local: [Element],
        remote: [Element]
    ) -> [Element] {
        if local == original { return remote }
        if remote == original { return local }
        var counts = counts(of: remote)
        let (before, mine, theirs) = (Self.counts(of: original), Self.counts(of: local), counts)
        for element in Set(before.keys).union(mine.keys) {
            let (then, here, there) = (before[element] ?? 0, mine[element] ?? 0, theirs[element] ?? 0)
            counts[element] = here == there ? here : max(0, there + here - then)
        }
        // What the remote has and is to stay, the last of equal ones first given up.
        var left = counts
        var merged: [Element] = []
        for element in remote where left[element, default: 0] > 0 {
            left[element, default: 0] -= 1
            merged.append(element)
        }
        // What is missing was added here.
        var places: [Element: Int] = [:]
        for (index, element) in merged.enumerated() { places[element] = index }
        var additions: [Int: [Element]] = [:]
        var place = -1
        for element in local {
            if left[element, default: 0] > 0, (mine[element] ?? 0) > (before[element] ?? 0) {
                left[element, default: 0] -= 1
                additions[place, default: []].append(element)
            } else if let index = places[element] {
                place = index
            }
        }
        var result = additions[-1] ?? []
        for (index, element) in merged.enumerated() { result += [element] + (additions[index] ?? []) }
        return result
    }

    /// The same for texts, which are compared by the bytes of their UTF-8.
    public static func array(original: [String], local: [String], remote: [String]) -> [String] {
        array(
            original: original.map(UTF8Text.init(_:)),
            local: local.map(UTF8Text.init(_:)),
            remote: remote.map(UTF8Text.init(_:))
        ).map(\.string)
    }

    private static func counts<Element: Hashable>(of elements: [Element]) -> [Element: Int] {
        elements.reduce(into: [:]) { $0[$1, default: 0] += 1 }
    }

    /// Records, property by property, and what is in these: objects key by key, arrays and sets element by element, as their JSON has them.
    ///
    /// - Throws: what encoding and decoding throw.
    /// - Complexity: O(size of the JSON).
    public static func record<Record: Codable>(original: Record, local: Record, remote: Record) throws -> Record {
        let encoder = JSONEncoder()
        let decoder = JSONDecoder()
        // In an array each, since JSON of a bare number or text is not read by all.
        func tree(_ record: Record) throws -> JSONTree {
            try decoder.decode([JSONTree].self, from: encoder.encode([record]))[0]
        }
        let merged = JSONTree.merge(original: try tree(original), local: try tree(local), remote: try tree(remote))
        return try decoder.decode([Record].self, from: encoder.encode([merged]))[0]
    }
}

extension ShareList {
    /// What becomes of a share list that was changed on both sides.
    public static func merge(original: ShareList, local: ShareList, remote: ShareList) -> ShareList {
        ShareList(
            ThreeWayMerge.dictionary(original: original.shares, local: local.shares, remote: remote.shares) {
                original,
                local,
                remote in
                let original = original ?? Share(permissions: [])
                return Share(
                    permissions: ThreeWayMerge.set(
                        original: original.permissions,
                        local: local.permissions,
                        remote: remote.permissions
                    ),
                    key: ThreeWayMerge.value(original: original.key, local: local.key, remote: remote.key)
                )
            }
        )
    }
}
