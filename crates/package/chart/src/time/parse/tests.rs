//! What Go reads by its layouts, and what it says where it cannot.

use proptest::prelude::*;

use super::*;

#[test]
fn times_are_read_as_in_go() {
    for (layout, text, zone, expected) in [
        (
            "20060102150405",
            "19991011200147",
            "America/New_York",
            Ok("1999-10-11 20:01:47 -0400 EDT"),
        ),
        (
            "05.999999999999 .9 ,99",
            "02.612671256 .6 ,617",
            "UTC",
            Ok("0000-01-01 00:00:02.617 +0000 UTC"),
        ),
        (
            "Z0700 Z07 Z070000 Z07:00:00 -07 -070000 -07:00:00 -07:00 -0700 MST",
            "-0300 -03 -030000 -03:00:00 -03 -030000 -03:00:00 -03:00 -0300 -03",
            "Europe/Berlin",
            Ok("0000-01-01 00:00:00 -0300 -03"),
        ),
        (
            "01/02 03:04:05PM '06 -0700",
            "12/31 11:59:59PM '69 -0000",
            "Asia/Kolkata",
            Ok("1969-12-31 23:59:59 +0000 +0000"),
        ),
        (
            "3:04PM",
            "7:25AM",
            "America/New_York",
            Ok("0000-01-01 07:25:00 -0456 LMT"),
        ),
        (
            "2006-01-02T15:04:05.999999999Z07:00",
            "2024-02-02T22:30:00.5+01:00",
            "UTC",
            Ok("2024-02-02 22:30:00.5 +0100 +0100"),
        ),
        (
            "2006-01-02T15:04:05Z07:00",
            "1993-07-28T06:09:12-04:00",
            "Europe/Berlin",
            Ok("1993-07-28 06:09:12 -0400 -0400"),
        ),
        (
            "5.000",
            "7.562",
            "Asia/Kolkata",
            Ok("0000-01-01 00:00:07.562 +0553 LMT"),
        ),
        (
            "MST-07:00",
            "-02-02:00",
            "Asia/Kolkata",
            Ok("0000-01-01 00:00:00 -0200 -02"),
        ),
        ("5,9", "16", "Asia/Kolkata", Ok("0000-01-01 00:00:16 +0553 LMT")),
        (
            "Mon, 02 Jan 2006 15:04:05 MST",
            "Sun, 18 Jul 1971 07:31:48 AEST",
            "Europe/Berlin",
            Ok("1971-07-18 07:31:48 +0000 AEST"),
        ),
        (
            "Jan _2 15:04:05.000",
            "Mar  5 02:29:20.635",
            "Europe/Berlin",
            Ok("0000-03-05 02:29:20.635 +0053 LMT"),
        ),
        (
            "_2006-01",
            "_2023-08",
            "Europe/Berlin",
            Ok("2023-08-01 00:00:00 +0200 CEST"),
        ),
        (
            "2006-01-02 15:04:05",
            "2003-10-15 01:44:53",
            "Australia/Lord_Howe",
            Ok("2003-10-15 01:44:53 +1030 +1030"),
        ),
        (
            "Jan Janet Month Mon",
            "Sep Janet Month Thu",
            "Asia/Kolkata",
            Ok("0000-09-01 00:00:00 +0553 LMT"),
        ),
        (
            "Monday, 02-Jan-06 15:04:05 MST",
            "Saturday, 11-Jun-94 19:15:49 +05",
            "UTC",
            Ok("1994-06-11 19:15:49 +0000 +05"),
        ),
        (
            "Mon, 02 Jan 2006 15:04:05 -0700",
            "Sun, 19 Mar 2000 13:34:06 +0000",
            "Europe/Berlin",
            Ok("2000-03-19 13:34:06 +0000 +0000"),
        ),
        (
            "15h04m",
            "11h15m",
            "Europe/Berlin",
            Ok("0000-01-01 11:15:00 +0053 LMT"),
        ),
        (
            "pm3",
            "am6",
            "America/New_York",
            Ok("0000-01-01 06:00:00 -0456 LMT"),
        ),
        ("2006-__2", "2009-165", "UTC", Ok("2009-06-14 00:00:00 +0000 UTC")),
        (
            "Mon Jan _2 15:04:05 2006",
            "Tue Jun 14 00:49:00 2005",
            "America/New_York",
            Ok("2005-06-14 00:49:00 -0400 EDT"),
        ),
        (
            "Jan _2 15:04:05",
            "Sep 29 22:01:16",
            "UTC",
            Ok("0000-09-29 22:01:16 +0000 UTC"),
        ),
        (
            "02 Jan 06 15:04 MST",
            "08 Sep 28 19:43 -03",
            "Australia/Lord_Howe",
            Ok("2028-09-08 19:43:00 +0000 -03"),
        ),
        (
            "2006 01 002",
            "2024 02 060",
            "Europe/Berlin",
            Ok("2024-02-29 00:00:00 +0100 CET"),
        ),
        (
            "2006 002 __2 _2 2 02 1 01 Jan January Mon Monday 3 03 15 4 04 5 05 06 PM pm",
            "1971 034  34  3 3 03 2 02 Feb February Wed Wednesday 7 07 07 35 35 26 26 71 AM am",
            "UTC",
            Ok("1971-02-03 07:35:26 +0000 UTC"),
        ),
        (
            "15:04:05,000000000",
            "02:41:35,679650083",
            "Europe/Berlin",
            Ok("0000-01-01 02:41:35.679650083 +0053 LMT"),
        ),
        (
            "2006-01-02T15:04:05.000Z",
            "1986-09-24T11:17:24.301Z",
            "Asia/Kolkata",
            Ok("1986-09-24 11:17:24.301 +0530 IST"),
        ),
        (
            "Mon Jan _2 15:04:05 MST 2006",
            "Wed Jan 13 07:41:33 -11 1993",
            "UTC",
            Ok("1993-01-13 07:41:33 +0000 -11"),
        ),
        (
            "MST -07",
            "UTC +00",
            "Asia/Kolkata",
            Ok("0000-01-01 00:00:00 +0000 UTC"),
        ),
        (
            "Mon Jan 02 15:04:05 -0700 2006",
            "Mon Sep 02 19:19:09 +0000 1996",
            "America/New_York",
            Ok("1996-09-02 19:19:09 +0000 +0000"),
        ),
        (
            "2006-01-02",
            "1986-08-30",
            "UTC",
            Ok("1986-08-30 00:00:00 +0000 UTC"),
        ),
        (
            "02 Jan 06 15:04 -0700",
            "21 Aug 22 16:18 -0400",
            "Asia/Kolkata",
            Ok("2022-08-21 16:18:00 -0400 -0400"),
        ),
        (
            "Jan _2 15:04:05.000000000",
            "Sep 14 17:09:00.424761662",
            "Asia/Kolkata",
            Ok("0000-09-14 17:09:00.424761662 +0553 LMT"),
        ),
        ("3PM", "0PM", "Europe/Berlin", Ok("0000-01-01 12:00:00 +0053 LMT")),
        (
            "2006-002",
            "1913-059",
            "America/New_York",
            Ok("1913-02-28 00:00:00 -0500 EST"),
        ),
        (
            "Jan Janet Month Mon",
            "8PM",
            "Europe/Berlin",
            Err(r#"parsing time "8PM" as "Jan Janet Month Mon": cannot parse "8PM" as "Jan""#),
        ),
        (
            "3:04PM",
            "2023-02-29",
            "America/New_York",
            Err(r#"parsing time "2023-02-29": hour out of range"#),
        ),
        (
            "02 Jan 06 15:04 MST",
            "08 Jun 16 12:22 -057",
            "Europe/Berlin",
            Err(
                r#"parsing time "08 Jun 16 12:22 -057" as "02 Jan 06 15:04 MST": cannot parse "-057" as "MST""#,
            ),
        ),
        (
            "05.000000000000",
            "20 Mar 90 15:12 -0030",
            "Europe/Berlin",
            Err(
                r#"parsing time "20 Mar 90 15:12 -0030" as "05.000000000000": cannot parse " Mar 90 15:12 -0030" as ".000000000000""#,
            ),
        ),
        (
            "2006 002 __2 _2 2 02 1 01 Jan January Mon Monday 3 03 15 4 04 5 05 06 PM pm",
            "Oct 29 14:17:44",
            "Australia/Lord_Howe",
            Err(
                r#"parsing time "Oct 29 14:17:44" as "2006 002 __2 _2 2 02 1 01 Jan January Mon Monday 3 03 15 4 04 5 05 06 PM pm": cannot parse "Oct 29 14:17:44" as "2006""#,
            ),
        ),
        (
            "Monday, 02-Jan-06 15:04:05 MST",
            "pm3",
            "Asia/Kolkata",
            Err(r#"parsing time "pm3" as "Monday, 02-Jan-06 15:04:05 MST": cannot parse "pm3" as "Monday""#),
        ),
        (
            "3:04PM",
            "Wed, 29 Oct 1890 04:07:28 +0521",
            "Asia/Kolkata",
            Err(
                r#"parsing time "Wed, 29 Oct 1890 04:07:28 +0521" as "3:04PM": cannot parse "Wed, 29 Oct 1890 04:07:28 +0521" as "3""#,
            ),
        ),
        (
            "5.000",
            "EST",
            "Asia/Kolkata",
            Err(r#"parsing time "EST" as "5.000": cannot parse "EST" as "5""#),
        ),
        (
            "3PM",
            "7P",
            "Asia/Kolkata",
            Err(r#"parsing time "7P" as "3PM": cannot parse "P" as "PM""#),
        ),
        (
            "Jan _2 15:04:05.000000000",
            "5.1234567891234",
            "Asia/Kolkata",
            Err(
                r#"parsing time "5.1234567891234" as "Jan _2 15:04:05.000000000": cannot parse "5.1234567891234" as "Jan""#,
            ),
        ),
        (
            "2006-01-02T15:04:05.999999999Z07:00",
            "May 10 05:26:41.682000000",
            "Asia/Kolkata",
            Err(
                r#"parsing time "May 10 05:26:41.682000000" as "2006-01-02T15:04:05.999999999Z07:00": cannot parse "May 10 05:26:41.682000000" as "2006""#,
            ),
        ),
        (
            "Mon Jan _2 15:04:05 2006",
            "2h3m",
            "Asia/Kolkata",
            Err(r#"parsing time "2h3m" as "Mon Jan _2 15:04:05 2006": cannot parse "2h3m" as "Mon""#),
        ),
        (
            "Z0700 Z07 Z070000 Z07:00:00 -07 -070000 -07:00:00 -07:00 -0700 MST",
            "-0400 -04 -040000 -04:00:00 -04 -040000 -04:00:00 -04:00 -0400 EDT7",
            "Europe/Berlin",
            Err(
                r#"parsing time "-0400 -04 -040000 -04:00:00 -04 -040000 -04:00:00 -04:00 -0400 EDT7": extra text: "7""#,
            ),
        ),
        (
            "Jan _2 15:04:05",
            "2h3m",
            "UTC",
            Err(r#"parsing time "2h3m" as "Jan _2 15:04:05": cannot parse "2h3m" as "Jan""#),
        ),
        (
            "Jan _2 15:04:05.000",
            "mON Jan  2 15:04:05 2006",
            "Asia/Kolkata",
            Err(
                r#"parsing time "mON Jan  2 15:04:05 2006" as "Jan _2 15:04:05.000": cannot parse "mON Jan  2 15:04:05 2006" as "Jan""#,
            ),
        ),
        (
            "Mon, 02 Jan 2006 15:04:05 MST",
            "12/31 11:59:59PM '68 +2400",
            "Australia/Lord_Howe",
            Err(
                r#"parsing time "12/31 11:59:59PM '68 +2400" as "Mon, 02 Jan 2006 15:04:05 MST": cannot parse "12/31 11:59:59PM '68 +2400" as "Mon""#,
            ),
        ),
        (
            "05.0001",
            "pm3",
            "America/New_York",
            Err(r#"parsing time "pm3" as "05.0001": cannot parse "pm3" as "05""#),
        ),
        (
            "MST-07:00",
            "Wed Feb 12 21:42:41 2059",
            "Australia/Lord_Howe",
            Err(
                r#"parsing time "Wed Feb 12 21:42:41 2059" as "MST-07:00": cannot parse "Wed Feb 12 21:42:41 2059" as "MST""#,
            ),
        ),
        (
            "2006-01-02T15:04:05.000Z",
            "WITA",
            "UTC",
            Err(r#"parsing time "WITA" as "2006-01-02T15:04:05.000Z": cannot parse "WITA" as "2006""#),
        ),
        (
            "15:04:05,000000000",
            "1993 176 176 25 25 25 6 06 Jun June Fri Friday 2 02 14 25 25 48 48 93 PM pm",
            "Europe/Berlin",
            Err(
                r#"parsing time "1993 176 176 25 25 25 6 06 Jun June Fri Friday 2 02 14 25 25 48 48 93 PM pm" as "15:04:05,000000000": cannot parse "93 176 176 25 25 25 6 06 Jun June Fri Friday 2 02 14 25 25 48 48 93 PM pm" as ":""#,
            ),
        ),
        (
            "01/02 03:04:05PM '06 -0700",
            "0PM",
            "Australia/Lord_Howe",
            Err(r#"parsing time "0PM" as "01/02 03:04:05PM '06 -0700": cannot parse "0PM" as "01""#),
        ),
        (
            "_2006-01",
            "2023-366",
            "America/New_York",
            Err(r#"parsing time "2023-366" as "_2006-01": cannot parse "2023-366" as "_""#),
        ),
        (
            "2006-002",
            "",
            "America/New_York",
            Err(r#"parsing time "" as "2006-002": cannot parse "" as "2006""#),
        ),
        (
            "Mon, 02 Jan 2006 15:04:05 -0700",
            "_1928-10",
            "Asia/Kolkata",
            Err(
                r#"parsing time "_1928-10" as "Mon, 02 Jan 2006 15:04:05 -0700": cannot parse "_1928-10" as "Mon""#,
            ),
        ),
        (
            "2006 01 002",
            "12/31 11:59:59PM '69 -0000",
            "Asia/Kolkata",
            Err(
                r#"parsing time "12/31 11:59:59PM '69 -0000" as "2006 01 002": cannot parse "12/31 11:59:59PM '69 -0000" as "2006""#,
            ),
        ),
        (
            "MST -07",
            "CET +01:00",
            "America/New_York",
            Err(r#"parsing time "CET +01:00": extra text: ":00""#),
        ),
        (
            "Z0700 Z07 Z070000 Z07:00:00 -07 -070000 -07:00:00 -07:00 -0700 MST",
            "-0300 -03 -030000 -03:00:00 T03 -030000 -03:00:00 -03:00 -0300 -03",
            "America/New_York",
            Err(
                r#"parsing time "-0300 -03 -030000 -03:00:00 T03 -030000 -03:00:00 -03:00 -0300 -03" as "Z0700 Z07 Z070000 Z07:00:00 -07 -070000 -07:00:00 -07:00 -0700 MST": cannot parse "T03 -030000 -03:00:00 -03:00 -0300 -03" as "-07""#,
            ),
        ),
        (
            "2006-__2",
            "09.705000000",
            "Asia/Kolkata",
            Err(r#"parsing time "09.705000000" as "2006-__2": cannot parse "09.705000000" as "2006""#),
        ),
        (
            "05.999999999999 .9 ,99",
            "5.000",
            "Europe/Berlin",
            Err(r#"parsing time "5.000" as "05.999999999999 .9 ,99": cannot parse "5.000" as "05""#),
        ),
        (
            "2006-01-02",
            "5.000",
            "Europe/Berlin",
            Err(r#"parsing time "5.000" as "2006-01-02": cannot parse "5.000" as "2006""#),
        ),
    ] {
        let location = Location::load(zone, &Location::Utc).expect("a known zone");
        let time = Time::parse(layout.as_bytes(), text.as_bytes(), &location).map(|time| time.to_string());
        assert_eq!(
            time,
            expected.map(str::to_owned).map_err(str::to_owned),
            "{layout}"
        );
    }
}

proptest! {
    #[test]
    fn no_text_or_layout_stops_the_program(
        layout in "([0-7_.,ZMSTJanPpm:+ -]|06|15|002|2006|-07:00|Z0700|MST){0,12}",
        text in "[0-9 A-Za-z:+.,-]{0,24}",
    ) {
        let time = Time::parse(layout.as_bytes(), text.as_bytes(), &Location::Utc);
        if let Ok(time) = time {
            time.format(layout.as_bytes());
        }
    }
}
