from tidepool.gauge import Reading, is_plausible, level


def test_the_level_is_what_is_left_of_the_datum():
    assert level(400.4, 612) == 212


def test_a_jump_is_not_plausible():
    assert is_plausible(Reading(0, 200), None)
    assert not is_plausible(Reading(60, 252), Reading(0, 200))


def test_zero_is_a_reading():
    assert level(612, 612) == 0
