// Comparisons, logic and tests of elements; their results are bool (or the operands' integers).

def Eq : Binary<"eq", "Compare"> { let summary = "input == other."; let body = [(eq $input, $other)]; let reference = "equal"; }
def Ne : Binary<"ne", "Compare"> { let summary = "input != other."; let body = [(ne $input, $other)]; let aliases = ["not_equal"]; let reference = "not_equal"; }
def Lt : Binary<"lt", "Compare"> { let summary = "input < other."; let body = [(lt $input, $other)]; let aliases = ["less"]; let reference = "less"; }
def Le : Binary<"le", "Compare"> { let summary = "input <= other."; let body = [(le $input, $other)]; let aliases = ["less_equal"]; let reference = "less_equal"; }
def Gt : Binary<"gt", "Compare"> { let summary = "input > other."; let body = [(gt $input, $other)]; let aliases = ["greater"]; let reference = "greater"; }
def Ge : Binary<"ge", "Compare"> { let summary = "input >= other."; let body = [(ge $input, $other)]; let aliases = ["greater_equal"]; let reference = "greater_equal"; }
def LogicalAnd : Binary<"logical_and", "Logical"> { let summary = "Both are nonzero."; let body = [(and_ $input, $other)]; }
def LogicalOr : Binary<"logical_or", "Logical"> { let summary = "Either is nonzero."; let body = [(or_ $input, $other)]; }
def LogicalXor : Binary<"logical_xor", "Logical"> { let summary = "Exactly one is nonzero."; let body = [(xor_ $input, $other)]; }
def LogicalNot : Unary<"logical_not", "Logical"> { let summary = "Is zero."; let body = [(not_ $input)]; }
def BitwiseAnd : Binary<"bitwise_and", "Promote"> { let summary = "Bitwise and of integers, logical and of bools."; let body = [(and_ $input, $other)]; let domain = "Integral"; let samples = "integers"; }
def BitwiseOr : Binary<"bitwise_or", "Promote"> { let summary = "Bitwise or of integers, logical or of bools."; let body = [(or_ $input, $other)]; let domain = "Integral"; let samples = "integers"; }
def BitwiseXor : Binary<"bitwise_xor", "Promote"> { let summary = "Bitwise exclusive or of integers, logical of bools."; let body = [(xor_ $input, $other)]; let domain = "Integral"; let samples = "integers"; }
def BitwiseNot : Unary<"bitwise_not", "Promote"> { let summary = "Bitwise complement of integers, logical not of bools."; let body = [(not_ $input)]; let domain = "Integral"; let samples = "integers"; let reference = "invert"; }
def IsNan : Unary<"isnan", "Compare"> { let summary = "Is NaN."; let body = [(isnan $input)]; let forms = ["function", "method"]; }
def IsInf : Unary<"isinf", "Compare"> { let summary = "Is an infinity."; let body = [(isinf $input)]; let forms = ["function", "method"]; }
def IsFinite : Unary<"isfinite", "Compare"> { let summary = "Is neither NaN nor an infinity."; let body = [(isfinite $input)]; let forms = ["function", "method"]; }
