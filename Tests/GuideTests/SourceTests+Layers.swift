import Foundation
import Testing

/// The folders in `Sources/Strata` are layers. The compiler does not check them, because they are one module.
extension SourceTests {
    /// The layers of `Sources/Strata`, from the lowest to the highest, each with the reason for its place.
    private static let layers: [(name: String, reason: String)] = [
        ("Basics", "Errors, stored values, texts and waiting need neither models nor a database."),
        ("Modelling", "Models, their schema and the changes of their rows exist without a query and without a store."),
        ("Querying", "A query is a tree over models and becomes SQL text; running the text needs a connection."),
        ("Store", "Connections run the SQL on one file; the file knows only commits, and no unsaved changes."),
        ("Saving", "Layers of unsaved changes, commits and batches read and write the store for any context."),
        ("Contexts", "A context turns edits of live objects into layers, saves and commits."),
        ("Stack", "The stack creates the contexts, runs their blocks and serves the whole store."),
    ]

    /// The uses of types of higher layers: the file, the types and the reason.
    ///
    /// Do not add to this list. Move the declaration or the code to the layer where it belongs.
    private static let upwardUses: [(file: String, types: Set<String>, reason: String)] = [
        (
            "Modelling/Model/Model.swift", ["ObjectLink", "ObjectState"],
            "an object stores its link to its context, so the protocol requires a property for it"
        ),
        ("Modelling/Model/ModelHooks.swift", ["ObjectContext"], "hooks receive the context that saves their object"),
        (
            "Modelling/Rows/RowChanges.swift", ["CommitRecord", "Connection", "LayerSnapshot", "MovedReferences"],
            "AnyRowChanges lists what layers do with changes of any entity; the implementations are in Saving"
        ),
        (
            "Modelling/Schema/EntityInfo.swift", ["EntitySQL"],
            "an entity keeps the statements of its table, so that they are written once"
        ),
        (
            "Modelling/Schema/Schema.swift",
            [
                "BatchJob", "ChangeSegment", "CommitHook", "CommitJob", "Connection", "LayerEdits", "LayerSnapshot",
                "MergePolicy", "NoOpChanges", "OwnedModelInfo", "TableChanges",
            ],
            "AnyEntity lists what upper layers do with rows of any type; a schema knows which models have commit hooks"
        ),
        (
            "Modelling/Schema/SchemaBuilder.swift", ["SchemaSQL"],
            "no model may have a table with the name of an internal table or of an index"
        ),
        ("Store/Connection.swift", ["ReadRecord"], "a connection notes the reads of the context that uses it"),
        (
            "Store/ReaderPool.swift", ["BlockScope", "MutexWaiter"],
            "a block waits for a place among the readers as it waits for a context, so that it joins an enclosing block"
        ),
        (
            "Store/Store.swift", ["BlockScope", "CommitCallbacks", "LayerReading", "LayerRegistry"],
            "the store of a stack owns the layers and the callbacks, and lends blocks their places among the readers"
        ),
        (
            "Contexts/ObjectContext.swift", ["ContextHandle", "HandleReference"],
            "a context knows the handle that created it, for messages and for the end of a turn"
        ),
    ]

    @Test("A layer of Strata uses no types of the layers above it")
    func layersOfStrata() throws {
        let sources = try Self.sources(of: "Sources/Strata")
        #expect(sources.count > 250)
        let layering = Layering(Self.layers.map(\.name), sources)
        #expect(layering.strays.isEmpty, "in no layer: \(layering.strays.sorted())")

        var exceptions: [String: Set<String>] = [:]
        for exception in Self.upwardUses { exceptions[exception.file, default: []].formUnion(exception.types) }
        for (file, types) in layering.upwardUses.sorted(by: { $0.key < $1.key }) {
            let new = types.subtracting(exceptions[file] ?? [])
            #expect(new.isEmpty, "\(file) uses types of higher layers: \(new.sorted())")
        }
        for (file, types) in exceptions {
            let unneeded = types.subtracting(layering.upwardUses[file] ?? [])
            #expect(unneeded.isEmpty, "\(file) does not use \(unneeded.sorted()) any more: remove the exception")
        }
    }

    @Test(
        "The check of layers finds uses of higher types",
        arguments: [
            "extension High {}", "func open(_ high: High) {}", "let inner: High.Inner? = nil", "var all: [Inner] = []",
            "let text = \"a \\(High.name(\"b\"))\"", "let text = #\"\"\"\n\\#(High.name)\n\"\"\"#",
            "/* a /* b */ \" */ let high: High", "func open<Value: High>(_ value: Value) {}",
        ]
    )
    func foundUse(_ code: String) {
        #expect(Self.layering(of: code).upwardUses["Low/A.swift"] != nil)
    }

    @Test(
        "The check of layers accepts other code",
        arguments: [
            "// High", "/* High /* High */ High */", "let text = \"High \\\" High\"",
            "let text = \"\"\"\n\" High\n\"\"\"",
            "let text = #\"\\(High) \" High\"#", "func open<Other>(_ other: Other) {}", "let both: Both",
            "let own: Low", "class func highest() {}", "struct Inner {}",
        ]
    )
    func acceptedUse(_ code: String) {
        #expect(Self.layering(of: code).upwardUses.isEmpty)
    }

    @Test("A file outside of all layers is found")
    func stray() {
        let layering = Layering(["Low"], ["Low/A.swift": "", "B.swift": "", "Other/C.swift": ""])
        #expect(layering.strays == ["B.swift", "Other/C.swift"])
    }

    /// Two layers, of which the lower one contains this code.
    private static func layering(of code: String) -> Layering {
        Layering(
            ["Low", "High"],
            [
                "Low/A.swift": code,
                "Low/B.swift": "struct Low {}\nstruct Both {}",
                "High/C.swift": "public final class High { struct Inner {} }\nextension Low { enum Both {} }",
                "High/D.swift": "struct Other {}",
            ]
        )
    }

    /// The texts of the Swift files in a folder, by their paths in it.
    static func sources(of folder: String) throws -> [String: String] {
        let root = Repository.root.appending(path: folder)
        let files = FileManager.default.enumerator(at: root, includingPropertiesForKeys: nil)
        var sources: [String: String] = [:]
        for file in files?.compactMap({ $0 as? URL }) ?? [] where file.pathExtension == "swift" {
            let path = file.pathComponents.dropFirst(root.pathComponents.count).joined(separator: "/")
            sources[path] = try String(contentsOf: file, encoding: .utf8)
        }
        return sources
    }
}

/// The uses of types across the top folders of a module, whose order is given.
///
/// Only names count that exactly one of the folders declares, and that are not names of generic parameters.
private struct Layering {
    /// The types of higher folders that a file uses, by the file's path.
    private(set) var upwardUses: [String: Set<String>] = [:]
    /// The files outside of the folders.
    private(set) var strays: Set<String> = []

    /// - Parameters:
    ///   - order: the folders, from the lowest to the highest.
    ///   - sources: the texts of the files by their paths.
    init(_ order: [String], _ sources: [String: String]) {
        var files: [(path: String, layer: Int, types: SourceTypes)] = []
        for (path, text) in sources {
            if let layer = order.firstIndex(where: { path.hasPrefix($0 + "/") }) {
                files.append((path, layer, SourceTypes(text)))
            } else {
                strays.insert(path)
            }
        }
        var layers: [String: Set<Int>] = [:]
        for file in files { for name in file.types.declared { layers[name, default: []].insert(file.layer) } }
        for file in files { for name in file.types.parameters { layers[name] = nil } }
        for file in files {
            for name in file.types.named {
                guard let found = layers[name], found.count == 1, found.allSatisfy({ $0 > file.layer }) else {
                    continue
                }
                upwardUses[file.path, default: []].insert(name)
            }
        }
    }
}
