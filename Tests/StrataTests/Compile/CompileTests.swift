import Foundation
import Testing

@Suite("Code that must compile, and code that must not", .timeLimit(.minutes(5)))
struct CompileTests {
    typealias Mode = CompileCases.Mode

    @Test("The folder has the expected cases")
    func cases() {
        #expect(CompileCases.names("Leak").count >= 23)
        #expect(CompileCases.names("Legal").count >= 24)
        #expect(CompileCases.names("Predicate").count >= 14)
        #expect(CompileCases.names("Warns").count == 1)
        #expect(CompileCases.names("Unknown").count == 4)
        #expect(CompileCases.names("Commit").count == 5)
    }

    @Test(
        "An object that leaves its block or enters another block does not compile",
        arguments: Mode.allCases,
        CompileCases.names("Leak")
    )
    func leaks(_ mode: Mode, _ name: String) async throws {
        let cases = try await CompileCases.rejected(mode)
        let errors = (cases.outcomes[name] ?? []).filter(\.isError).map(\.message)
        // The compiler must reject the case for the right reason, and not because of a mistake in it.
        let reason = /data race|Sendable|isolated|consum|concurrently/
        #expect(errors.contains { $0.contains(reason) }, "the compiler says: \(errors)")
    }

    @Test("Safe code compiles without ambiguity", arguments: Mode.allCases, CompileCases.names("Legal"))
    func legal(_ mode: Mode, _ name: String) async throws {
        let cases = try await CompileCases.accepted(mode)
        let errors = (cases.outcomes[name] ?? []).filter(\.isError).map(\.message)
        #expect(errors == [])
    }

    @Test("The cases that must compile also compile together", arguments: Mode.allCases)
    func legalTogether(_ mode: Mode) async throws {
        let cases = try await CompileCases.accepted(mode)
        #expect(!cases.text.contains("error:"), "\(cases.text)")
    }

    @Test(
        "An object in a thrown error is the only leak that gives a warning instead of an error",
        arguments: Mode.allCases
    )
    func hole(_ mode: Mode) async throws {
        let diagnostics = try await CompileCases.accepted(mode).outcomes["Warns-Thrown-error.swift"] ?? []
        #expect(diagnostics.contains { !$0.isError && $0.message.contains("Sendable") })
        #expect(diagnostics.allSatisfy { !$0.isError })
    }

    @Test("An object as the value of a synchronous block gives the plain message about Sendable")
    func message() async throws {
        let diagnostics = try await CompileCases.rejected(.plain).outcomes["Leak-Return-sync.swift"] ?? []
        #expect(
            diagnostics.contains { $0.isError && $0.message.contains("does not conform to the 'Sendable' protocol") }
        )
    }

    @Test("An unknown property does not compile", arguments: CompileCases.names("Unknown"))
    func unknown(_ name: String) async throws {
        let diagnostics = try await CompileCases.rejected(.plain).outcomes[name] ?? []
        #expect(diagnostics.contains { $0.isError && $0.line == 4 && $0.message.contains("nope") }, "accepted")
    }

    @Test(
        "A block whose changes are committed after it, or never, can neither save nor commit",
        arguments: CompileCases.names("Commit")
    )
    func commits(_ name: String) async throws {
        let diagnostics = try await CompileCases.rejected(.plain).outcomes[name] ?? []
        let reason = /value of type 'ObjectContext' has no member '(commit|save|batchDelete)'/
        #expect(diagnostics.contains { $0.isError && $0.line == 4 && $0.message.contains(reason) }, "\(diagnostics)")
    }

    @Test("An unsupported predicate does not compile", arguments: CompileCases.names("Predicate"))
    func predicates(_ name: String) async throws {
        let diagnostics = try await CompileCases.rejected(.plain).outcomes[name] ?? []
        // The query begins on the fourth line.
        #expect(diagnostics.contains { $0.isError && $0.line >= 4 }, "accepted")
        for text in ["in reasonable time", "failed to produce diagnostic"] {
            #expect(!diagnostics.contains { $0.message.contains(text) }, "\(diagnostics.map(\.message))")
        }
    }

    @Test(
        "The compiler names wrong sorts and wrong scopes",
        arguments: [
            (
                "Predicate-Sort-by-to-many.swift",
                "'RelationshipExpression<Author, Article>' conform to 'SortExpression'"
            ),
            ("Predicate-Sort-by-a-condition.swift", "'Condition<Article>' conform to 'SortExpression'"),
            ("Predicate-Scope-with-arguments.swift", "cannot refer to static method 'viewed(atLeast:)'"),
        ]
    )
    func sortsAndScopes(_ name: String, _ message: String) async throws {
        let messages = try await CompileCases.rejected(.plain).outcomes[name]?.filter(\.isError).map(\.message) ?? []
        #expect(messages.contains { $0.contains(message) }, "\(messages)")
    }

    @Test("A model with a superclass does not compile, because the superclass's stored properties would be left out")
    func superclass() async throws {
        let file = CompileCases.folder.appendingPathComponent("Alone-Superclass.swift")
        let outcome = try await Compiler().compile([file], [])
        let message = "cannot contain class 'Base' because it already contains class 'ModelWithoutSuperclass'"
        #expect(!outcome.succeeded && outcome.text.contains(message), "\(outcome.text)")
        #expect(outcome.text.components(separatedBy: " error: ").count == 2, "\(outcome.text)")
    }

    @Test(
        "An inverse is named on one side only, and must be a property of the other model",
        arguments: [
            ("Alone-Inverse-on-both-sides.swift", "circular reference"),
            ("Alone-Inverse-to-nowhere.swift", "has no member 'nope'"),
        ]
    )
    func inverses(_ name: String, _ message: String) async throws {
        let outcome = try await Compiler().compile([CompileCases.folder.appendingPathComponent(name)], [])
        #expect(!outcome.succeeded && outcome.text.contains(message), "\(outcome.text)")
    }

    @Test(
        "For an impossible property type or an array method, the compiler's message says what to write instead",
        arguments: [
            ("Alone-Attribute-of-no-kind.swift", "write 'enum Status: String, AttributeValue'"),
            ("Alone-Optional-attribute-of-no-kind.swift", "'struct Address: Codable, Equatable, AttributeValue'"),
            ("Alone-Array-of-a-model.swift", "write 'Many<Hobby>' instead of '[Hobby]'"),
            ("Alone-Append-to-many.swift", "'append' has been renamed to 'insert(_:)'"),
        ]
    )
    func unknownTypes(_ name: String, _ message: String) async throws {
        let outcome = try await Compiler().compile([CompileCases.folder.appendingPathComponent(name)], [])
        #expect(!outcome.succeeded && outcome.text.contains(message), "\(outcome.text)")
    }

    @Test(
        "For unsupported transformers and derived attributes, the compiler's message says what is wrong",
        arguments: [
            ("Alone-Transformer-of-another-type.swift", "the type of the property is not the Value of its transformer"),
            ("Alone-No-transformer.swift", "'Upper' conform to 'ValueTransformer'"),
            ("Alone-Set-derived.swift", "'title' is a get-only property"),
            ("Alone-Derived-from-another.swift", "has no member 'name'"),
        ]
    )
    func valuesOfAttributes(_ name: String, _ message: String) async throws {
        let outcome = try await Compiler().compile([CompileCases.folder.appendingPathComponent(name)], [])
        #expect(!outcome.succeeded && outcome.text.contains(message), "\(outcome.text)")
    }

    @Test("A method in an extension that has the name of a hook or validation but another signature gives a warning")
    func hooks() async throws {
        let file = CompileCases.folder.appendingPathComponent("Alone-Hook-in-extension.swift")
        let outcome = try await Compiler().compile([file], [])
        for advice in [
            "'func willInsert(in context: ObjectContext) throws'", "'func willDelete(in context: ObjectContext)'",
            "'func validate(in context: ObjectContext, _ failures: inout Validation<M>) throws'",
        ] {
            #expect(outcome.text.contains(advice), "\(outcome.text)")
        }
    }
}
