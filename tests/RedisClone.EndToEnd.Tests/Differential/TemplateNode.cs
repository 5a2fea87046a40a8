namespace RedisClone.EndToEnd.Tests.Differential;

/// <summary>A part of a <see cref="Template"/>, which adds arguments to a request.</summary>
internal abstract record TemplateNode
{
    /// <summary>The literal words of the part.</summary>
    public virtual IEnumerable<string> Words => [];

    public abstract void Emit(Arguments arguments, List<Argument> into);

    public static TemplateNode Of(params IEnumerable<TemplateNode> parts) =>
        parts.ToArray() is var all && all is [var only] ? only : new Sequence(all);

    internal sealed record Word(string Text) : TemplateNode
    {
        public override IEnumerable<string> Words => [Text];

        public override void Emit(Arguments arguments, List<Argument> into) => into.Add(new Argument("word", Text));
    }

    internal sealed record Value(string Kind) : TemplateNode
    {
        public override void Emit(Arguments arguments, List<Argument> into) => arguments.Make(Kind, into);
    }

    private sealed record Sequence(TemplateNode[] Parts) : TemplateNode
    {
        public override IEnumerable<string> Words => Parts.SelectMany(p => p.Words);

        public override void Emit(Arguments arguments, List<Argument> into)
        {
            foreach (TemplateNode part in Parts) part.Emit(arguments, into);
        }
    }

    internal sealed record Choice(TemplateNode[] Ways) : TemplateNode
    {
        public override IEnumerable<string> Words => Ways.SelectMany(w => w.Words);

        public override void Emit(Arguments arguments, List<Argument> into) => Ways[arguments.Random.Next(Ways.Length)].Emit(arguments, into);
    }

    internal sealed record Maybe(TemplateNode Part) : TemplateNode
    {
        public override IEnumerable<string> Words => Part.Words;

        public override void Emit(Arguments arguments, List<Argument> into)
        {
            if (arguments.Random.Next(2) == 0) Part.Emit(arguments, into);
        }
    }

    /// <summary>Options, sometimes in another order.</summary>
    internal sealed record Options(TemplateNode[] Parts) : TemplateNode
    {
        public override IEnumerable<string> Words => Parts.SelectMany(p => p.Words);

        public override void Emit(Arguments arguments, List<Argument> into)
        {
            TemplateNode[] parts = [.. Parts];
            if (arguments.Random.Next(3) == 0) arguments.Random.Shuffle(parts);
            foreach (TemplateNode part in parts) part.Emit(arguments, into);
        }
    }

    internal sealed record Repeated(TemplateNode Part) : TemplateNode
    {
        public override IEnumerable<string> Words => Part.Words;

        public override void Emit(Arguments arguments, List<Argument> into)
        {
            for (int n = arguments.Repetitions = 1 + arguments.Random.Next(4); n > 0; n--) Part.Emit(arguments, into);
        }
    }

    /// <summary>Repeats a part as often as the last part that was repeated.</summary>
    internal sealed record RepeatedAsBefore(TemplateNode Part) : TemplateNode
    {
        public override IEnumerable<string> Words => Part.Words;

        public override void Emit(Arguments arguments, List<Argument> into)
        {
            for (int n = arguments.Repetitions; n > 0; n--) Part.Emit(arguments, into);
        }
    }

    /// <summary>A number, and a part that is repeated as often.</summary>
    internal sealed record Counted(TemplateNode Part) : TemplateNode
    {
        public override IEnumerable<string> Words => Part.Words;

        public override void Emit(Arguments arguments, List<Argument> into)
        {
            int at = into.Count;
            new Repeated(Part).Emit(arguments, into);
            into.Insert(at, new Argument("int", arguments.Repetitions.ToString(System.Globalization.CultureInfo.InvariantCulture)));
        }
    }
}
