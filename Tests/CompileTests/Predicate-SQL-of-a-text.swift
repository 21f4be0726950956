import Strata

func test(_ context: ObjectContext, _ text: String) throws {
    _ = try context.rows("SELECT 1" + text)
}
