import Testing

@testable import TestedMacros

@Suite("Diagnostics for validations of models")
struct ValidationDiagnosticsTests {
    @Test("A validation with another signature is diagnosed", arguments: wrongMethods + wrongDeleteMethods)
    func wrongSignature(_ wrong: WrongDeclaration) { wrong.check() }

    @Test("A validation with its signature gets no diagnostics", arguments: rightMethods)
    func rightSignature(_ method: String) {
        #expect(Diagnosis(of: WrongDeclaration.model(with: method)).diagnostics.map(\.message) == [])
    }

    @Test("A model of another type may have the validations of its qualified name")
    func nested() {
        let source = """
            enum Outer {
                @Model final class Article {
                    var slug: String
                    static func validate(_ row: Outer.Article.Row, _ failures: inout Validation<Outer.Article>) {}
                    func validateDelete(in context: ObjectContext, _ failures: inout Validation<Outer.Article>) {}
                }
            }
            """
        #expect(Diagnosis(of: source).diagnostics.map(\.message) == [])
    }

    @Test("The message names both validations of the class")
    func message() {
        let source = WrongDeclaration.model(with: "func validate() {}")
        let message = """
            a method 'validate' with this signature is never called; write 'static func validate(_ row: Row, \
            _ failures: inout Validation<Article>)' to check a row, or 'func validate(in context: ObjectContext, \
            _ failures: inout Validation<Article>) throws' to check an object in its context, or choose another name
            """
        #expect(Diagnosis(of: source).diagnostics.map(\.message) == [message])
    }

    static let rightMethods = [
        "static func validate(_ row: Row, _ failures: inout Validation<Article>) {}",
        "public static func validate(_: Row, _ all: inout Strata.Validation<Article>) -> Void {}",
        "static func `validate`(_ row: Article.Row, _ failures: inout Validation< Article >) -> () {}",
        "class func validate(_ row: Self.Row, _ failures: inout Validation<`Article`>) {}",
        "func validate(in context: ObjectContext, _ failures: inout Validation<Article>) throws {}",
        "func validate(in store: Strata.ObjectContext, _ failures: inout Validation<Article>) {}",
        "func validateDelete(in context: ObjectContext, _ failures: inout Validation<Article>) throws {}",
        "private func validateDelete(in _: ObjectContext, _ all: inout Strata.Validation<Article>) -> Void {}",
        // Other names.
        "func validated() {}",
        "func validateAll(_ row: Row) throws {}",
        "var validate: Bool",
        "#if DEBUG\n    static func validate(_ row: Row, _ failures: inout Validation<Article>) {}\n    #endif",
    ]

    static let wrongMethods = validations.map { rule, method in
        WrongDeclaration(
            rule,
            property: method,
            at: "validate",
            "write 'static func validate(_ row: Row, _ failures: inout Validation<Article>)'"
        )
    }

    static let wrongDeleteMethods = deleteValidations.map { rule, method in
        WrongDeclaration(
            rule,
            property: method,
            at: "validateDelete",
            "write 'func validateDelete(in context: ObjectContext, _ failures: inout Validation<Article>) throws'"
        )
    }

    private static let validations: [(rule: String, method: String)] = [
        ("own purpose", "func validate() {}"),
        ("own purpose, with a result", "func validate() throws -> Bool { true }"),
        ("own purpose, static", "static func validate(_ slug: String) {}"),
        ("row of an instance", "func validate(_ row: Row, _ failures: inout Validation<Article>) {}"),
        ("row that throws", "static func validate(_ row: Row, _ failures: inout Validation<Article>) throws {}"),
        ("row, asynchronous", "static func validate(_ row: Row, _ failures: inout Validation<Article>) async {}"),
        ("row with a label", "static func validate(row: Row, _ failures: inout Validation<Article>) {}"),
        ("row, failures with a label", "static func validate(_ row: Row, failures: inout Validation<Article>) {}"),
        ("row without failures", "static func validate(_ row: Row) {}"),
        ("row, no inout", "static func validate(_ row: Row, _ failures: Validation<Article>) {}"),
        ("row of another model", "static func validate(_ row: Tag.Row, _ failures: inout Validation<Article>) {}"),
        ("row, another model's failures", "static func validate(_ row: Row, _ failures: inout Validation<Tag>) {}"),
        ("row, a longer name", "static func validate(_ row: Row, _ failures: inout Validation<BigArticle>) {}"),
        ("row that is an object", "static func validate(_ row: Article, _ failures: inout Validation<Article>) {}"),
        ("rows", "static func validate(_ row: Row..., _ failures: inout Validation<Article>) {}"),
        ("row and more", "static func validate(_ r: Row, _ f: inout Validation<Article>, _ strict: Bool = true) {}"),
        ("row, a result", "static func validate(_ row: Row, _ failures: inout Validation<Article>) -> Bool { true }"),
        ("row, generic", "static func validate<T>(_ row: T, _ failures: inout Validation<Article>) {}"),
        ("object, static", "static func validate(in context: ObjectContext, _ f: inout Validation<Article>) throws {}"),
        ("object, asynchronous", "func validate(in c: ObjectContext, _ f: inout Validation<Article>) async throws {}"),
        ("object, another label", "func validate(context: ObjectContext, _ f: inout Validation<Article>) throws {}"),
        ("object, no label", "func validate(_ context: ObjectContext, _ f: inout Validation<Article>) throws {}"),
        ("object, failures with a label", "func validate(in c: ObjectContext, failures: inout Validation<Article>) {}"),
        ("object without failures", "func validate(in context: ObjectContext) throws {}"),
        ("object, another model's failures", "func validate(in c: ObjectContext, _ f: inout Validation<Tag>) {}"),
        ("object, another context", "func validate(in context: Context, _ f: inout Validation<Article>) throws {}"),
        ("object, a result", "func validate(in c: ObjectContext, _ f: inout Validation<Article>) -> Bool { true }"),
        ("condition", "#if DEBUG\n    func validate() {}\n    #endif"),
    ]

    private static let deleteValidations: [(rule: String, method: String)] = [
        ("delete, own purpose", "func validateDelete() throws {}"),
        ("delete, static", "static func validateDelete(in c: ObjectContext, _ f: inout Validation<Article>) {}"),
        ("delete of a row", "static func validateDelete(_ row: Row, _ failures: inout Validation<Article>) {}"),
        ("delete, another label", "func validateDelete(from c: ObjectContext, _ f: inout Validation<Article>) {}"),
        ("delete, another model's failures", "func validateDelete(in c: ObjectContext, _ f: inout Validation<Tag>) {}"),
        ("delete, no inout", "func validateDelete(in c: ObjectContext, _ f: Validation<Article>) throws {}"),
        ("delete without failures", "func validateDelete(in context: ObjectContext) throws {}"),
        ("delete, asynchronous", "func validateDelete(in c: ObjectContext, _ f: inout Validation<Article>) async {}"),
    ]
}
