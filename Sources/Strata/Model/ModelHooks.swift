/// The life cycle hooks and validations that a model has. Made by code that `@Model` generates.
///
/// Whoever wants a hook writes a method of its name, in the class or in an extension in its module. Without one the name
/// stands for the method of the same name that every model has, and that gives a ``NoHook``: by this the compiler tells
/// the one from the other, so that what a model does not have is never called.
public struct ModelHooks: Sendable {
    let willInsert: ObjectHook
    let willUpdate: ObjectHook
    let willDelete: ObjectHook
    let didFetch: ObjectHook
    let validate: ObjectValidation
    let validateDelete: ObjectValidation

    /// The hooks of a model; by default none.
    public init(
        willInsert: ObjectHook = ObjectHook(),
        willUpdate: ObjectHook = ObjectHook(),
        willDelete: ObjectHook = ObjectHook(),
        didFetch: ObjectHook = ObjectHook(),
        validate: ObjectValidation = ObjectValidation(),
        validateDelete: ObjectValidation = ObjectValidation()
    ) {
        self.willInsert = willInsert
        self.willUpdate = willUpdate
        self.willDelete = willDelete
        self.didFetch = didFetch
        self.validate = validate
        self.validateDelete = validateDelete
    }

    /// Whether a save has hooks to run.
    var runBeforeSave: Bool { willInsert.run != nil || willUpdate.run != nil }

    /// Whether a save has objects to validate.
    var validateBeforeSave: Bool { validate.run != nil || validateDelete.run != nil }
}

/// A method that is called at a moment in the life of an object.
public struct ObjectHook: Sendable {
    /// Called with an object of the model.
    let run: (@Sendable (AnyObject, ObjectContext) throws -> Void)?

    /// No method.
    public init() { run = nil }

    private init(_ run: @escaping @Sendable (AnyObject, ObjectContext) throws -> Void) { self.run = run }

    /// A hook that the model has.
    public static func _$hook<Object: Model>(
        _ method: @escaping @Sendable (Object) -> (ObjectContext) throws -> Void
    ) -> ObjectHook {
        // Called with objects of this model only, whose schema has this hook.
        ObjectHook { try method(unsafeDowncast($0, to: Object.self))($1) }
    }

    /// A hook that the model does not have.
    public static func _$hook<Object: Model>(
        _ method: @escaping @Sendable (Object) -> (ObjectContext) -> NoHook
    ) -> ObjectHook { ObjectHook() }

    /// A hook that nothing may go wrong in.
    public static func _$calm<Object: Model>(
        _ method: @escaping @Sendable (Object) -> (ObjectContext) -> Void
    ) -> ObjectHook {
        ObjectHook { method(unsafeDowncast($0, to: Object.self))($1) }
    }

    /// A hook that the model does not have.
    public static func _$calm<Object: Model>(
        _ method: @escaping @Sendable (Object) -> (ObjectContext) -> NoHook
    ) -> ObjectHook { ObjectHook() }

    // What has the name of a hook and not its form, where the macro does not see it.

    /// Says what is wrong.
    @available(
        *,
        deprecated,
        message: """
            this model has a method with the name of a hook that is not called; write \
            'func willInsert(in context: ObjectContext) throws', likewise willUpdate
            """
    )
    public static func _$hook<Method>(_ method: Method) -> ObjectHook { ObjectHook() }

    /// Says what is wrong.
    @available(
        *,
        deprecated,
        message: """
            this model has a method with the name of a hook that is not called; write \
            'func willDelete(in context: ObjectContext)', likewise didFetch, neither of which throws
            """
    )
    public static func _$calm<Method>(_ method: Method) -> ObjectHook { ObjectHook() }
}

/// A method that checks an object with its context at hand.
public struct ObjectValidation: Sendable {
    /// Called with an object of the model; gives what is wrong with it.
    let run: (@Sendable (AnyObject, ObjectContext) throws -> [StrataError.Detail])?

    /// No method.
    public init() { run = nil }

    private init(_ run: @escaping @Sendable (AnyObject, ObjectContext) throws -> [StrataError.Detail]) {
        self.run = run
    }

    /// A validation that the model has.
    public static func _$validation<Object: Model>(
        _ method: @escaping @Sendable (Object) -> (ObjectContext, inout Validation<Object>) throws -> Void
    ) -> ObjectValidation {
        ObjectValidation {
            // Called with objects of this model only, whose schema has this validation.
            let object = unsafeDowncast($0, to: Object.self)
            var validation = Validation<Object>(number: object.id.number)
            try method(object)($1, &validation)
            return validation.details
        }
    }

    /// A validation that the model does not have.
    public static func _$validation<Object: Model>(
        _ method: @escaping @Sendable (Object) -> (ObjectContext, inout Validation<Object>) -> NoHook
    ) -> ObjectValidation { ObjectValidation() }
}

/// What the methods of ``Model`` give that stand for hooks which a model does not have. It says nothing.
public struct NoHook: Sendable {}
