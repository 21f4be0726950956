import Strata
import Testing

@Suite("Days of the Gregorian calendar") struct CivilDateTests {
    @Test("Each day of 800 years has the right number and weekday")
    func civilDates() {
        var number = CivilDate(year: 1600, month: 1, day: 1).daysSince1970
        #expect(number == -135_140)
        var weekday = 6
        for year in 1600..<2400 {
            for month in 1...12 {
                for day in 1...CivilDate.length(ofMonth: month, year: year) {
                    let date = CivilDate(daysSince1970: number)
                    let isRight = date.year == year && date.month == month && date.day == day
                    guard isRight, date.daysSince1970 == number, date.weekday == weekday else {
                        Issue.record("\(year)-\(month)-\(day) came out as \(date)")
                        return
                    }
                    number += 1
                    weekday = (weekday + 1) % 7
                }
            }
        }
    }
}
