"""The laboratory: experiments, what they are run on and how they are judged."""
