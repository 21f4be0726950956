import Foundation
import Strata

/// A market whose models are not always all opened.
enum Market {
    @Model final class Customer {
        @Attribute(.unique) var name: String
        var points: Int = 0
        @Relationship(deleteRule: .cascade) var portrait: Portrait?
        @Relationship(deleteRule: .cascade, inverse: \Purchase.customer) var purchases: Many<Purchase>
        @Relationship(deleteRule: .noAction, inverse: \Visit.customer) var visits: Many<Visit>
        @Relationship(inverse: \Label.customers) var labels: Many<Label>
    }

    @Model final class Purchase {
        var number: Int
        var customer: Customer?
    }

    @Model final class Visit {
        var day: Int
        var customer: Customer?
    }

    @Model(originalName: "Tag") final class Label {
        var text: String
        var customers: Many<Customer>
    }

    @Model final class Portrait {
        var file: String
    }

    // The models above do not lead to the following ones.

    @Model final class Memo {
        var text: String
        var customer: Customer?
    }

    @Model final class Receipt {
        var total: Int
        var purchase: Purchase?
    }

    @Model final class Product {
        @Attribute(.unique) var name: String
        var price: Int = 0
    }

    static let models: [any Model.Type] = [
        Customer.self, Purchase.self, Visit.self, Label.self, Portrait.self, Memo.self, Receipt.self, Product.self,
    ]

    /// Customers named after the only other object that concerns their delete, and one product.
    static func fill(_ context: SavingContext) throws {
        func customer(_ name: String) -> Customer { context.insert(Customer(name: name)) }
        _ = customer("nothing")
        context.insert(Visit(day: 1, customer: customer("visit")))
        context.insert(Memo(text: "late", customer: customer("memo")))
        customer("label").labels.insert(context.insert(Label(text: "regular")))
        customer("portrait").portrait = context.insert(Portrait(file: "a.jpg"))
        context.insert(Purchase(number: 1, customer: customer("purchase")))
        let purchase = context.insert(Purchase(number: 2, customer: customer("receipt")))
        context.insert(Receipt(total: 3, purchase: purchase))
        context.insert(Product(name: "pen"))
        try context.commit()
    }
}

/// A later version of a model of the market.
enum LaterMarket {
    @Model final class Product {
        @Attribute(.unique) var name: String
        var price: Int = 0
        var color: String = ""
    }

    @Model final class Voucher {
        var code: String
    }
}

/// The later version of a model of the market, with another order of its properties.
enum ReorderedMarket {
    @Model final class Product {
        var color: String = ""
        @Attribute(.unique) var name: String
        var price: Int = 0
    }
}
