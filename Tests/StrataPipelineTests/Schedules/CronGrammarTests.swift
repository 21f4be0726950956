import Foundation
import StoreModels
import Testing

@testable import StrataPipeline

@Suite("Cron: grammar")
struct CronGrammarTests {
    @Test(
        "A malformed expression is refused, and the error names the field and the reason",
        arguments: [
            ("", nil, "found nothing"),
            ("  \t ", nil, "found nothing"),
            ("5", nil, "found one field"),
            ("* * * *", nil, "found 4 fields"),
            ("* * * * * * *", nil, "found 7 fields"),
            ("*\n* * * *", nil, "found 4 fields"),
            ("*\u{A0}* * * *", nil, "found 4 fields"),
            ("60 * * * *", "minute", "60 is not in 0-59"),
            ("* 24 * * *", "hour", "24 is not in 0-23"),
            ("* * 0 * *", "day-of-month", "0 is not in 1-31"),
            ("* * 32 * *", "day-of-month", "32 is not in 1-31"),
            ("* * * 0 *", "month", "0 is not in 1-12"),
            ("* * * 13 *", "month", "13 is not in 1-12"),
            ("* * * * 8", "day-of-week", "8 is not in 0-7"),
            ("60 * * * * *", "second", "60 is not in 0-59"),
            ("50-70 * * * *", "minute", "70 is not in 0-59"),
            ("18446744073709551617 * * * *", "minute", "18446744073709551617 is not in 0-59"),
            ("* 1-99999999999999999999999 * * *", "hour", "99999999999999999999999 is not in 0-23"),
            ("*/99999999999999999999999 * * * *", "minute", "cannot have a step of 99999999999999999999999"),
            ("*/0 * * * *", "minute", "a step must be at least 1"),
            ("1-5/0 * * * *", "minute", "a step must be at least 1"),
            ("*/00 * * * *", "minute", "a step must be at least 1"),
            ("*/61 * * * *", "minute", "a field of 60 values cannot have a step of 61"),
            ("0 */25 * * *", "hour", "a field of 24 values cannot have a step of 25"),
            ("0 0 * * */8", "day-of-week", "a field of 7 values cannot have a step of 8"),
            ("*/-5 * * * *", "minute", "the step \"-5\" is not a number"),
            ("*/MON * * * *", "minute", "the step \"MON\" is not a number"),
            ("*/ * * * *", "minute", "a step must follow the slash"),
            ("/5 * * * *", "minute", "a value is missing before the step"),
            ("1/2/3 * * * *", "minute", "\"1/2/3\" has more than one step"),
            ("5-1 * * * *", "minute", "the range \"5-1\" runs backwards"),
            ("0 22-3 * * *", "hour", "the range \"22-3\" runs backwards; list its two parts instead"),
            ("0 0 * NOV-FEB *", "month", "the range \"NOV-FEB\" runs backwards"),
            ("0 0 * * 5-0", "day-of-week", "runs backwards; write 7 for the Sunday at its end"),
            ("0 0 * * FRI-MON", "day-of-week", "the range \"FRI-MON\" runs backwards"),
            ("0 0 * * 7-1", "day-of-week", "the range \"7-1\" runs backwards"),
            ("1,,2 * * * *", "minute", "the list \"1,,2\" has an empty entry"),
            (",1 * * * *", "minute", "the list \",1\" has an empty entry"),
            ("1, * * * *", "minute", "the list \"1,\" has an empty entry"),
            (", * * * *", "minute", "the list \",\" has an empty entry"),
            ("1- * * * *", "minute", "the range \"1-\" lacks a bound"),
            ("-1 * * * *", "minute", "the range \"-1\" lacks a bound"),
            ("- * * * *", "minute", "the range \"-\" lacks a bound"),
            ("1-2-3 * * * *", "minute", "\"1-2-3\" has more than two bounds"),
            ("*-5 * * * *", "minute", "\"*\" is not a number"),
            ("** * * * *", "minute", "\"**\" is not a number"),
            ("? * * * *", "minute", "\"?\" is not a number"),
            ("+5 * * * *", "minute", "\"+5\" is not a number"),
            ("1.5 * * * *", "minute", "\"1.5\" is not a number"),
            ("0x5 * * * *", "minute", "\"0x5\" is not a number"),
            ("٣ * * * *", "minute", "\"٣\" is not a number"),
            ("５ * * * *", "minute", "\"５\" is not a number"),
            ("JAN * * * *", "minute", "\"JAN\" is not a number"),
            ("0 0 L * *", "day-of-month", "\"L\" is not a number"),
            ("0 0 * MON *", "month", "\"MON\" is neither a number nor a name from JAN to DEC"),
            ("0 0 * JANUARY *", "month", "\"JANUARY\" is neither a number nor a name"),
            ("0 0 * * JAN", "day-of-week", "\"JAN\" is neither a number nor a name from SUN to SAT"),
            ("0 0 * * ſun", "day-of-week", "\"ſun\" is neither a number nor a name"),
            ("0 0 * * MON#2", "day-of-week", "\"MON#2\" is neither a number nor a name"),
            ("@reboot", nil, "@reboot is not one of @annually, @daily, @hourly"),
            ("@", nil, "@ is not one of"),
            ("@wee\u{212A}ly", nil, "is not one of"),
            ("@daily 5", nil, "nothing may follow @daily"),
            ("@ daily", nil, "nothing may follow @"),
            ("0 0 30 2 *", "day-of-month", "this day never comes, because no listed month is long enough"),
            ("0 0 30,31 FEB *", "day-of-month", "this day never comes"),
            ("0 0 31 2,4,6,9,11 *", "day-of-month", "this day never comes"),
            ("0 0 31 4 */2", "day-of-month", "this day never comes"),
        ] as [(String, String?, String)]
    )
    func refuses(text: String, field: String?, reason: String) {
        let error = #expect(throws: CronError.self) { try CronExpression(text) }
        #expect(error?.text == text)
        #expect(error?.field == field)
        #expect(error?.reason.contains(reason) == true, "\(error?.reason ?? "")")
    }

    @Test(
        "Two ways to write one schedule have the same moments",
        arguments: [
            ("@yearly", "0 0 1 1 *"), ("@annually", "0 0 1 JAN *"), ("@monthly", "0 0 1 * *"),
            ("@weekly", "0 0 * * SUN"), ("@daily", "0 0 * * *"), ("@midnight", "0 0 * * *"), ("@hourly", "0 * * * *"),
            ("@DAILY", "0 0 0 * * *"),
            ("*/15 * * * *", "0,15,30,45 * * * *"),
            ("10-40/5 * * * *", "10,15,20,25,30,35,40 * * * *"),
            ("7/10 * * * *", "7,17,27,37,47,57 * * * *"),
            ("0 5/6 * * *", "0 5,11,17,23 * * *"),
            ("59/60 * * * *", "59 * * * *"),
            ("*/60 * * * *", "0 * * * *"),
            ("1-1 * * * *", "1 * * * *"),
            ("5,1,3,1-3 * * * *", "1,2,3,5 * * * *"),
            ("007 * * * *", "7 * * * *"),
            ("7,* * * * *", "* * * * *"),
            ("0 0 * jan-Mar,dEc *", "0 0 * 1,2,3,12 *"),
            ("0 0 * FEB/3 *", "0 0 * 2,5,8,11 *"),
            ("0 0 * * 0", "0 0 * * 7"),
            ("0 0 * * sun", "0 0 * * 7"),
            ("0 0 * * FRI-SUN", "0 0 * * 5,6,0"),
            ("0 0 * * 5-7", "0 0 * * FRI,SAT,SUN"),
            ("0 0 * * SAT-SUN", "0 0 * * 0,6"),
            ("0 0 * * SUN-SUN", "0 0 * * 0"),
            ("0 0 * * SUN-TUE", "0 0 * * 0-2"),
            ("0 0 * * 0-7", "0 0 * * 0-6"),
            ("0 0 * * 1-7/2", "0 0 * * 1,3,5,0"),
            ("0 0 * * MON-SUN/3", "0 0 * * MON,THU,SUN"),
            ("0 0 * * */2", "0 0 * * 0,2,4,6"),
            ("0 0 * * 1/2", "0 0 * * 1,3,5"),
            ("0 0 * * 7/2", "0 0 * * 0,2,4,6"),
            ("\t0 \t 0  * *\t* \n", "0 0 * * *"),
            ("0 0 30 2 1", "0 0 * 2 MON"),
        ]
    )
    func means(text: String, other: String) throws {
        let start = "2026-11-22T17:43:21Z"
        let moments = try CronExpression(text).moments(after: start, count: 60)
        #expect(moments.count == 60)
        #expect(try moments == CronExpression(other).moments(after: start, count: 60))
    }

    @Test("The text stays as written, without the surrounding blanks")
    func description() throws {
        let expression = try CronExpression(" \t0 0  * jan\tMON \r\n")
        #expect(expression.description == "0 0  * jan\tMON")
        #expect(try expression == CronExpression("0 0  * jan\tMON"))
        #expect(try expression != CronExpression("0 0 * 1 1"))
        #expect(try Set([expression, CronExpression("@daily"), CronExpression(" @daily")]).count == 2)
    }

    @Test("An error says everything in one line")
    func errorDescription() {
        let error = #expect(throws: CronError.self) { try CronExpression("61 * * * *") }
        #expect(error?.description == "bad cron expression \"61 * * * *\" (minute): 61 is not in 0-59")
    }

    @Test("A random text is refused or parsed to an expression that has a next moment")
    func rubbish() {
        let seed = Dice.seed
        print("seed of the rubbish: \(seed)")
        var generator = Dice(seed: seed)
        let alphabet = Array("0123456789*/-, \t@JANSUn٣é\u{301}\0\n")
        var accepted = 0
        for _ in 0..<20_000 {
            let length = Int.random(in: 0...14, using: &generator)
            var text = String((0..<length).compactMap { _ in alphabet.randomElement(using: &generator) })
            if Bool.random(using: &generator) { text += " * * * *" }
            guard let expression = try? CronExpression(text) else { continue }
            accepted += 1
            #expect(expression.next(after: .now) != nil, "\(text.debugDescription), seed \(seed)")
        }
        #expect(accepted > 100)
    }
}
