import Strata

struct Anything {}

func test(_ context: ObjectContext) throws {
    _ = try context.rows("SELECT \(Anything())")
}
